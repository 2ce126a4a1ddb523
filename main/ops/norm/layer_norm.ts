import { milNative, milPlain } from "../../backends/coreml/rules.ts";
import { mlxCall, withoutDouble } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { Op, Range, VjpContext } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { leadingBatch } from "../families/batching.ts";
import { scalarLike } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import { inferNorm, lastAxis } from "../families/norm.ts";
import { normal, normals, sample, values, withDoubles } from "../families/samples.ts";
import { unbroadcast } from "../families/unbroadcast.ts";

export interface LayerNormAttrs {
  readonly eps: number;
}

/** With x̂ the normalised x and h = ct·gamma: dx = (h - mean h - x̂ mean(h x̂)) / σ. */
function gradient({
  g,
  ct,
  inputs: [x, gamma, beta],
  attrs: { eps },
}: VjpContext<LayerNormAttrs, Range<2, 3>>): readonly Value[] {
  const mean = (v: Value): Value => g.reduce([v], { kind: "mean", axes: lastAxis, keepDims: true });
  const centred = g.sub([x, mean(x)]);
  const inverse = g.rsqrt([g.add([mean(g.mul([centred, centred])), scalarLike(g, x, eps)])]);
  const normed = g.mul([centred, inverse]);
  const h = g.mul([ct, gamma]);
  const dx = g.mul([inverse, g.sub([g.sub([h, mean(h)]), g.mul([normed, mean(g.mul([h, normed]))])])]);
  const dgamma = unbroadcast(g, g.mul([ct, normed]), gamma);
  return beta === undefined ? [dx, dgamma] : [dx, dgamma, unbroadcast(g, ct, beta)];
}

export const layer_norm: Op<"layer_norm", LayerNormAttrs, Range<2, 3>> = defineOp({
  name: "layer_norm",
  summary: "(x - mean) / √(variance + eps) · gamma (+ beta) over the last axis.",
  arity: { least: 2, most: 3 },
  operands: ["x", "gamma", "beta"],
  outputs: "one",
  attributes: { eps: attr.float() },
  infer: (inputs) => inferNorm("layer_norm", inputs),
  reference: ([x, gamma, beta], { eps }) => {
    const n = x.shape.at(-1) ?? 1;
    const out = new Float64Array(x.data.length);
    for (let row = 0; row < out.length; row += n) {
      const line = x.data.subarray(row, row + n);
      const mean = line.reduce((sum, v) => sum + v, 0) / n;
      const variance = line.reduce((sum, v) => sum + (v - mean) ** 2, 0) / n;
      const scale = 1 / Math.sqrt(variance + eps);
      for (let i = 0; i < n; i++)
        out[row + i] = (at(line, i) - mean) * scale * at(gamma.data, i) + (beta ? at(beta.data, i) : 0);
    }
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: {
    jax: "np.asarray(jax.jit(lambda x: jax.nn.standardize(x, axis=-1, epsilon=a['eps']))(x0)) * x1 + (xs[2] if len(xs) > 2 else 0.0)",
  },
  gradient: { kind: "vjp", rule: gradient },
  batching: leadingBatch("layer_norm", ({ g, inputs, attrs }) => g.layer_norm(inputs, attrs)),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("layer_norm", { takes: REALS, params: ({ eps }) => ({ eps }) }),
    coreml: milNative((e, [x, gamma, beta], { eps }) => {
      // MIL's own scale and shift must be constants; computed ones are applied outside.
      const normed = e.op("layer_norm", { x, axes: [-1], epsilon: eps });
      const scaled = e.op("mul", { x: normed, y: milPlain(e, gamma) });
      return beta === undefined ? scaled : e.op("add", { x: scaled, y: milPlain(e, beta) });
    }),
    mlx: mlxCall("layer_norm", { attrs: ({ eps }) => ({ eps }), when: withoutDouble("layer_norm") }),
  },
  samples: withDoubles([
    sample("odd sizes", normals(1, [3, 5], [5], [5]), { eps: 1e-5 }),
    sample("no beta, symbolic", normals(4, ["T", 2, 7], [7]), { eps: 1e-5 }, { bindings: { T: 2 } }),
    sample("eps matters", [values([1e-3, -2e-3, 3e-3, 0], [1, 4]), values([1, 2, 3, 4]), values([0, 1, 0, 1])], {
      eps: 1e-2,
    }),
    sample("a vector far from zero", [normal(6, [9], 1, 50), normal(7, [9])], { eps: 1e-5 }),
  ]),
});
