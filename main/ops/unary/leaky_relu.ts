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

export interface LeakyReluAttrs {
  readonly alpha: number;
}

const parts = (g: OpBuilder, [x]: readonly [Value], { alpha }: LeakyReluAttrs): Value =>
  g.where([g.compare([x, scalarLike(g, x, 0)], { op: "ge" }), x, g.mul([x, scalarLike(g, x, alpha)])]);

export const leaky_relu: Op<"leaky_relu", LeakyReluAttrs, 1> = tunedOp("leaky_relu", {
  summary: "The number where it is not negative, alpha times the number elsewhere.",
  attributes: { alpha: attr.float() },
  reference: (x, { alpha }) => (x >= 0 ? x : alpha * x),
  oracle: { jax: 'jax.nn.leaky_relu(x0, a["alpha"])' },
  gradient: decomposed(parts),
  backends: {
    cpu: cpuKernel("leaky_relu", { takes: REALS, params: ({ alpha }) => ({ alpha }) }),
    coreml: milNative((e, [x]: readonly [MilValue], { alpha }) => e.op("leaky_relu", { x, alpha })),
    mlx: decomposed(parts),
  },
  samples: tuned<LeakyReluAttrs>(rangeSamples(-5, 5), { alpha: 0.2 }),
});
