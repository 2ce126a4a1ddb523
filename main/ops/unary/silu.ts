import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { realSamples, elementwiseBatching, inferUnary, referenceUnary, logistic } from "../families/unary.ts";
import { scalarLike } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";

export const silu: Op<"silu", NoAttrs, 1> = defineOp({
  name: "silu",
  summary: "x · sigmoid(x).",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("silu"),
  reference: referenceUnary((x) => x * logistic(x)),
  oracle: { numpy: "x0 * scipy.special.expit(x0)" },
  // d xσ = σ (1 + x (1 - σ)) dx
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [x] }) => {
      const s = g.sigmoid([x]);
      const one = scalarLike(g, ct, 1);
      return [g.mul([ct, g.mul([s, g.add([one, g.mul([x, g.sub([one, s])])])])])];
    },
  },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise"],
  backends: { cpu: cpuKernel("silu", { takes: REALS }), coreml: milUnary("silu"), mlx: mlxCall("silu") },
  samples: realSamples,
});
