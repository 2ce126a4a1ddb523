import { milUnary } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { numberSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { filledLike } from "../families/constants.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";

export const sign: Op<"sign", NoAttrs, 1> = defineOp({
  name: "sign",
  summary: "-1, 0 or 1.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("sign", "numbers"),
  reference: referenceUnary(Math.sign),
  oracle: { numpy: "np.sign(x0)" },
  // Constant wherever it has a derivative.
  gradient: { kind: "vjp", rule: ({ g, ct }) => [filledLike(g, ct, 0)] },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise", "idempotent"],
  backends: {
    cpu: cpuKernel("sign", { takes: NUMBERS }),
    coreml: milUnary("sign"),
    mlx: mlxCall("sign", { takes: "numbers" }),
  },
  samples: numberSamples,
});
