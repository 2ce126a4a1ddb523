import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { divDims, productOf } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import type { Decomposition, Op } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { alongAxis, inferNorm } from "../families/norm.ts";
import { scalarLike } from "../families/constants.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import { normal, normals, sample, withDoubles } from "../families/samples.ts";
import { lines } from "../families/oracle.ts";

export interface GroupNormAttrs {
  readonly groups: number;
  readonly eps: number;
}

const parts: Decomposition<GroupNormAttrs, 3> = (g, [x, gamma, beta], { groups, eps }) => {
  const { shape } = g.typeOf(x);
  const [batch = 1, channels = 1, ...sizes] = shape;
  const each = divDims(channels, groups) ?? 1;
  const grouped = g.reshape([x], { shape: [batch, groups, productOf([each, ...sizes])] });
  const mean = (v: Value): Value => g.reduce([v], { kind: "mean", axes: [2], keepDims: true });
  const centred = g.sub([grouped, mean(grouped)]);
  const inverse = g.rsqrt([g.add([mean(g.mul([centred, centred])), scalarLike(g, x, eps)])]);
  const normed = g.reshape([g.mul([centred, inverse])], { shape });
  const perChannel = (v: Value): Value => alongAxis(g, v, 1, shape.length);
  return g.add([g.mul([normed, perChannel(gamma)]), perChannel(beta)]);
};

export const group_norm: Op<"group_norm", GroupNormAttrs, 3> = defineOp({
  name: "group_norm",
  summary:
    "(x - mean) / √(variance + eps) over groups of channels and all their places, then gamma and beta of each channel: x [batch, channels, …].",
  arity: 3,
  operands: ["x", "gamma", "beta"],
  outputs: "one",
  attributes: { groups: attr.int(1), eps: attr.float() },
  infer: (inputs, { groups }) => {
    const [, channels = 1] = inputs[0].shape;
    const type = inferNorm("group_norm", inputs, 1, 2);
    if (divDims(channels, groups) === undefined)
      throw new WorkbenchError("IR_SHAPE", `[group_norm] channels: got ${channels}, expected a multiple of ${groups}`);
    return type;
  },
  reference: ([x, gamma, beta], { groups, eps }) => {
    const plane = sizeOf(x.shape.slice(2));
    const channels = at(x.shape, 1);
    const size = (channels / groups) * plane;
    const out = new Float64Array(x.data.length);
    for (let start = 0; start < out.length; start += size) {
      const group = x.data.subarray(start, start + size);
      const mean = group.reduce((sum, v) => sum + v, 0) / size;
      const scale = 1 / Math.sqrt(group.reduce((sum, v) => sum + (v - mean) ** 2, 0) / size + eps);
      group.forEach((v, i) => {
        const channel = Math.floor((start + i) / plane) % channels;
        out[start + i] = (v - mean) * scale * at(gamma.data, channel) + at(beta.data, channel);
      });
    }
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: {
    jax: lines(
      "rows = x0.reshape(x0.shape[0], a['groups'], -1)",
      "y = np.asarray(jax.jit(lambda x: jax.nn.standardize(x, axis=-1, epsilon=a['eps']))(rows)).reshape(x0.shape)",
      "at = (1, -1) + (1,) * (x0.ndim - 2)",
      "y * x1.reshape(at) + x2.reshape(at)",
    ),
  },
  gradient: decomposed(parts),
  batching: decomposed(parts),
  traits: ["pure", "sensitive"],
  backends: {
    ...everywhere(parts),
    cpu: cpuKernel("group_norm", { params: ({ groups, eps }) => ({ groups, eps }) }),
  },
  samples: withDoubles([
    sample("odd sizes", normals(1, [2, 6, 3, 5], [6], [6]), { groups: 3, eps: 1e-5 }),
    sample(
      "one group, one dimension, symbolic length",
      [normal(4, [1, 4, "T"], 1, 2), normal(5, [4]), normal(6, [4])],
      { groups: 1, eps: 1e-3 },
      { bindings: { T: 5 } },
    ),
    sample(
      "a group per channel, symbolic batch",
      normals(7, ["B", 3, 2, 2], [3], [3]),
      { groups: 3, eps: 1e-5 },
      { bindings: { B: 2 } },
    ),
  ]),
});
