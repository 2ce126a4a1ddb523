import { milNative, milPlain } from "../../backends/coreml/rules.ts";
import { mlxCall, withoutDouble } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { Op, Range, VjpContext } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { leadingBatch } from "../families/batching.ts";
import { scalarLike } from "../families/constants.ts";
import { REALS, takesTypes } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import { inferNorm, lastAxis, milRms } from "../families/norm.ts";
import { normal, normals, sample, values, withDoubles } from "../families/samples.ts";
import { unbroadcast } from "../families/unbroadcast.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { lines } from "../families/oracle.ts";

export interface RmsNormAttrs {
  readonly eps: number;
}

/** 1/√(mean x² + eps) along the last axis, kept. */
export function inverseRms(g: OpBuilder, x: Value, eps: number): Value {
  const square = g.reduce([g.mul([x, x])], { kind: "mean", axes: lastAxis, keepDims: true });
  return g.rsqrt([g.add([square, scalarLike(g, x, eps)])]);
}

/** With r the inverse root and h = ct·gamma: dx = r (h - x r² mean(h x)), dgamma = Σ ct x r, dbeta = Σ ct. */
function gradient({
  g,
  ct,
  inputs: [x, gamma, beta],
  attrs: { eps },
}: VjpContext<RmsNormAttrs, Range<2, 3>>): readonly Value[] {
  const r = inverseRms(g, x, eps);
  const h = g.mul([ct, gamma]);
  const mean = g.reduce([g.mul([h, x])], { kind: "mean", axes: lastAxis, keepDims: true });
  const dx = g.mul([r, g.sub([h, g.mul([x, g.mul([g.mul([r, r]), mean])])])]);
  const dgamma = unbroadcast(g, g.mul([ct, g.mul([x, r])]), gamma);
  return beta === undefined ? [dx, dgamma] : [dx, dgamma, unbroadcast(g, ct, beta)];
}

export const rms_norm: Op<"rms_norm", RmsNormAttrs, Range<2, 3>> = defineOp({
  name: "rms_norm",
  summary: "x / √(mean x² + eps) · gamma (+ beta) over the last axis.",
  arity: { least: 2, most: 3 },
  operands: ["x", "gamma", "beta"],
  outputs: "one",
  attributes: { eps: attr.float() },
  infer: (inputs) => inferNorm("rms_norm", inputs),
  reference: ([x, gamma, beta], { eps }) => {
    const n = x.shape.at(-1) ?? 1;
    const out = new Float64Array(x.data.length);
    for (let row = 0; row < out.length; row += n) {
      let squares = 0;
      for (let i = 0; i < n; i++) squares += at(x.data, row + i) ** 2;
      const scale = 1 / Math.sqrt(squares / n + eps);
      for (let i = 0; i < n; i++)
        out[row + i] = at(x.data, row + i) * scale * at(gamma.data, i) + (beta ? at(beta.data, i) : 0);
    }
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: {
    numpy: lines(
      "rms = lambda x, e: x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + e)",
      "rms(x0, a['eps']) * x1 + (xs[2] if len(xs) > 2 else 0)",
    ),
  },
  gradient: { kind: "vjp", rule: gradient },
  batching: leadingBatch("rms_norm", ({ g, inputs, attrs }) => g.rms_norm(inputs, attrs)),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: {
      kind: "native",
      emit: (e, [x, gamma, beta], { eps }, node) => {
        const normed = e.instr("rms_norm", [x, gamma], node.outputs, { eps });
        const [only] = normed;
        return beta === undefined || only === undefined ? normed : e.instr("add", [only, beta], node.outputs);
      },
      when: (node) => takesTypes("rms_norm", REALS, node),
    },
    coreml: milNative((e, [x, gamma, beta], { eps }) => {
      const normed = milRms(e, x, eps);
      const scaled = e.op("mul", { x: normed, y: milPlain(e, gamma) });
      return beta === undefined ? scaled : e.op("add", { x: scaled, y: milPlain(e, beta) });
    }),
    mlx: mlxCall("rms_norm", { attrs: ({ eps }) => ({ eps }), when: withoutDouble("rms_norm") }),
  },
  samples: withDoubles([
    sample("odd sizes", [normal(1, [3, 5]), normal(2, [5], 0.3, 1)], { eps: 1e-5 }),
    sample("heads, symbolic", [normal(3, ["T", 3, 4]), normal(4, [4], 0.3, 1)], { eps: 1e-6 }, { bindings: { T: 2 } }),
    sample("beta", normals(5, [2, 7], [7], [7]), { eps: 1e-5 }),
    sample("eps matters", [values([1e-3, -2e-3, 3e-3, 0], [1, 4]), values([1, 2, 3, 4])], { eps: 1e-2 }),
    sample("a vector", normals(8, [9], [9]), { eps: 1e-5 }),
    sample(
      "large values",
      [values([3000, -2000, 1000, 500], [1, 4]), values([1, 1, 1, 1])],
      { eps: 1e-5 },
      { differentiable: false },
    ),
  ]),
});
