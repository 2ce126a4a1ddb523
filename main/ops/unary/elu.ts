import type { MilValue } from "../../backends/coreml/emitter.ts";
import { milNative } from "../../backends/coreml/rules.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { Op } from "../defineOp.ts";
import { decomposed } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { rangeSamples, tuned, tunedOp } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface EluAttrs {
  readonly alpha: number;
}

/** The exponential is of numbers up to 0 only, so that its slope stays finite. */
function parts(g: OpBuilder, [x]: readonly [Value], { alpha }: EluAttrs): Value {
  const zero = scalarLike(g, x, 0);
  const below = g.mul([g.expm1([g.minimum([x, zero])]), scalarLike(g, x, alpha)]);
  return g.where([g.compare([x, zero], { op: "gt" }), x, below]);
}

export const elu: Op<"elu", EluAttrs, 1> = tunedOp("elu", {
  summary: "The number where it is positive, alpha · (e^x - 1) elsewhere.",
  attributes: { alpha: attr.float() },
  reference: (x, { alpha }) => (x > 0 ? x : alpha * Math.expm1(x)),
  oracle: { jax: 'jax.nn.elu(x0, a["alpha"])' },
  gradient: decomposed(parts),
  backends: {
    cpu: cpuKernel("elu", { takes: REALS, params: ({ alpha }) => ({ alpha }) }),
    coreml: milNative((e, [x]: readonly [MilValue], { alpha }) => e.op("elu", { x, alpha })),
    mlx: decomposed(parts),
  },
  samples: tuned<EluAttrs>(rangeSamples(-5, 5), { alpha: 0.7 }),
});
