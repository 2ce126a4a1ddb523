import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { normalizeAxis } from "../../ir/type.ts";
import type { Decomposition, Op } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { alongAxis, inferNorm } from "../families/norm.ts";
import { scalarLike } from "../families/constants.ts";
import { at, axisWalk } from "../families/host.ts";
import { normals, sample, uniform, withDoubles } from "../families/samples.ts";
import { lines } from "../families/oracle.ts";

export interface BatchNormAttrs {
  /** Where the channels are. */
  readonly axis: number;
  readonly eps: number;
}

const parts: Decomposition<BatchNormAttrs, 5> = (g, [x, gamma, beta, mean, variance], { axis, eps }) => {
  const rank = g.typeOf(x).shape.length;
  const channel = normalizeAxis(axis, rank, "batch_norm_inference");
  const lies = (v: Value): Value => alongAxis(g, v, channel, rank);
  const scale = g.mul([gamma, g.rsqrt([g.add([variance, scalarLike(g, x, eps)])])]);
  return g.add([g.mul([g.sub([x, lies(mean)]), lies(scale)]), lies(beta)]);
};

export const batch_norm_inference: Op<"batch_norm_inference", BatchNormAttrs, 5> = defineOp({
  name: "batch_norm_inference",
  summary:
    "(x - mean) / √(variance + eps) · gamma + beta with a known mean and variance of each channel: x, gamma, beta, mean, variance.",
  arity: 5,
  operands: ["x", "gamma", "beta", "mean", "variance"],
  outputs: "one",
  attributes: { axis: attr.int(), eps: attr.float() },
  infer: (inputs, { axis }) =>
    inferNorm("batch_norm_inference", inputs, normalizeAxis(axis, inputs[0].shape.length, "batch_norm_inference")),
  reference: ([x, gamma, beta, mean, variance], { axis, eps }) => {
    const { size, inner } = axisWalk(x.shape, normalizeAxis(axis, x.shape.length, "batch_norm_inference"));
    const out = x.data.map((v, i) => {
      const c = Math.floor(i / inner) % size;
      return ((v - at(mean.data, c)) / Math.sqrt(at(variance.data, c) + eps)) * at(gamma.data, c) + at(beta.data, c);
    });
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: {
    numpy: lines(
      "at = [-1 if i == a['axis'] % x0.ndim else 1 for i in range(x0.ndim)]",
      "g, b, m, v = (x.reshape(at) for x in xs[1:])",
      "(x0 - m) / np.sqrt(v + a['eps']) * g + b",
    ),
  },
  gradient: decomposed(parts),
  batching: decomposed(parts),
  traits: ["pure", "sensitive"],
  backends: everywhere(parts),
  samples: withDoubles([
    sample("channels second, odd sizes", [...normals(1, [2, 3, 5, 4], [3], [3], [3]), uniform(5, [3], 0.1, 2)], {
      axis: 1,
      eps: 1e-5,
    }),
    sample(
      "channels last, symbolic rows",
      [...normals(6, ["T", 5], [5], [5], [5]), uniform(10, [5], 0.1, 2)],
      { axis: -1, eps: 1e-3 },
      { bindings: { T: 3 } },
    ),
    sample("eps matters", [...normals(11, [4], [4], [4], [4]), uniform(15, [4], 1e-4, 1e-3)], { axis: 0, eps: 1e-2 }),
  ]),
});
