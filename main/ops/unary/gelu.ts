import type { MilValue } from "../../backends/coreml/emitter.ts";
import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { Op, Sample } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { erfOf } from "../families/erf.ts";
import { mapTensor } from "../families/host.ts";
import { elementwiseBatching, inferUnary, realSamples } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface GeluAttrs {
  /** The tanh form instead of erf. */
  readonly approx: boolean;
}

const ROOT = Math.sqrt(2 / Math.PI);
const CUBIC = 0.044715;

const exact = (x: number): number => 0.5 * x * (1 + erfOf(x / Math.SQRT2));
const approximate = (x: number): number => 0.5 * x * (1 + Math.tanh(ROOT * (x + CUBIC * x ** 3)));

/** Φ(x) + x φ(x), φ and Φ the normal density and its integral. */
function exactSlope(g: OpBuilder, x: Value): Value {
  const c = (v: number): Value => scalarLike(g, x, v);
  const integral = g.mul([c(0.5), g.add([c(1), g.erf([g.mul([x, c(Math.SQRT1_2)])])])]);
  const density = g.mul([c(1 / Math.sqrt(2 * Math.PI)), g.exp([g.mul([c(-0.5), g.mul([x, x])])])]);
  return g.add([integral, g.mul([x, density])]);
}

/** ½(1 + t) + ½ x (1 - t²) √(2/π) (1 + 3·0.044715 x²), t the tanh. */
function approximateSlope(g: OpBuilder, x: Value): Value {
  const c = (v: number): Value => scalarLike(g, x, v);
  const square = g.mul([x, x]);
  const t = g.tanh([g.mul([g.mul([c(ROOT), x]), g.add([c(1), g.mul([c(CUBIC), square])])])]);
  const inner = g.mul([c(ROOT), g.add([c(1), g.mul([c(3 * CUBIC), square])])]);
  const slope = g.mul([g.mul([c(0.5), x]), g.mul([g.sub([c(1), g.mul([t, t])]), inner])]);
  return g.add([g.mul([c(0.5), g.add([c(1), t])]), slope]);
}

const samples = realSamples.flatMap(({ title, ...rest }): readonly Sample<GeluAttrs>[] => [
  { ...rest, title: `${title}, exact`, attrs: { approx: false } },
  { ...rest, title: `${title}, tanh form`, attrs: { approx: true } },
]);

export const gelu: Op<"gelu", GeluAttrs, 1> = defineOp({
  name: "gelu",
  summary: "x times the normal distribution's integral, exactly (erf) or by the tanh form.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { approx: attr.bool() },
  infer: inferUnary("gelu"),
  reference: ([x], { approx }) => mapTensor(x, approx ? approximate : exact),
  oracle: { jax: 'jax.nn.gelu(x0, approximate=a["approx"])' },
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [x], attrs: { approx } }) => [
      g.mul([ct, approx ? approximateSlope(g, x) : exactSlope(g, x)]),
    ],
  },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise"],
  backends: {
    cpu: cpuKernel(({ approx }) => (approx ? "gelu_tanh" : "gelu"), { takes: REALS }),
    coreml: milNative((e, [x]: readonly [MilValue], { approx }) =>
      e.op("gelu", { x, mode: approx ? "TANH_APPROXIMATION" : "EXACT" }),
    ),
    mlx: mlxCall(({ approx }) => (approx ? "gelu_tanh" : "gelu")),
  },
  samples,
});
