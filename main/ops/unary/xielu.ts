import type { MilValue } from "../../backends/coreml/emitter.ts";
import { milNative } from "../../backends/coreml/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, everywhere } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { rangeSamples, tuned, tunedOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface XieluAttrs {
  readonly alphaP: number;
  readonly alphaN: number;
  readonly beta: number;
  /** The exponential is of numbers up to this one. */
  readonly eps: number;
}

function parts(g: OpBuilder, [x]: readonly [Value], { alphaP, alphaN, beta, eps }: XieluAttrs): Value {
  const c = (value: number): Value => scalarLike(g, x, value);
  const above = g.mul([g.square([x]), c(alphaP)]);
  const below = g.mul([g.sub([g.expm1([g.minimum([x, c(eps)])]), x]), c(alphaN)]);
  return g.add([g.where([g.compare([x, c(0)], { op: "gt" }), above, below]), g.mul([x, c(beta)])]);
}

export const xielu: Op<"xielu", XieluAttrs, 1> = tunedOp("xielu", {
  summary: "beta · x, and alphaP · x² where x is positive, alphaN · (e^min(x, eps) - 1 - x) elsewhere.",
  attributes: { alphaP: attr.float(), alphaN: attr.float(), beta: attr.float(), eps: attr.float() },
  reference: (x, { alphaP, alphaN, beta, eps }) =>
    beta * x + (x > 0 ? alphaP * x * x : alphaN * (Math.expm1(Math.min(x, eps)) - x)),
  oracle: {
    numpy:
      'a["beta"] * x0 + np.where(x0 > 0, a["alphaP"] * x0 ** 2, a["alphaN"] * (np.expm1(np.minimum(x0, a["eps"])) - x0))',
  },
  gradient: decomposed(parts),
  backends: {
    ...everywhere(parts),
    // Its elu is e^x - 1 up to 0, and only numbers up to 0 are taken from below.
    coreml: milNative((e, [x]: readonly [MilValue], { alphaP, alphaN, beta, eps }) => {
      const above = e.op("mul", { x: e.op("mul", { x, y: x }), y: alphaP });
      const grown = e.op("elu", { x: e.op("minimum", { x, y: eps }), alpha: 1 });
      const below = e.op("mul", { x: e.op("sub", { x: grown, y: x }), y: alphaN });
      const bent = e.op("select", { cond: e.op("greater", { x, y: 0 }), a: above, b: below });
      return e.op("add", { x: bent, y: e.op("mul", { x, y: beta }) });
    }),
  },
  samples: tuned<XieluAttrs>(rangeSamples(-5, 5), { alphaP: 0.8, alphaN: 0.6, beta: 0.5, eps: -1e-6 }),
});
