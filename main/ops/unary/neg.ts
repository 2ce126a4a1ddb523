import { milNative, wrapsAsInt32 } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { numberSamples, elementwiseBatching, inferUnary, referenceUnary } from "../families/unary.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";

export const neg: Op<"neg", NoAttrs, 1> = defineOp({
  name: "neg",
  summary: "The number with its sign turned.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {},
  infer: inferUnary("neg", "numbers"),
  reference: referenceUnary((x) => -x),
  oracle: { numpy: "-x0" },
  gradient: { kind: "vjp", rule: ({ g, ct }) => [g.neg([ct])] },
  batching: elementwiseBatching,
  traits: ["pure", "elementwise"],
  backends: {
    cpu: cpuKernel("neg", { takes: NUMBERS }),
    coreml: milNative((e, [x]) => e.op("mul", { x, y: -1 }), wrapsAsInt32),
    mlx: mlxCall("negative", { takes: "numbers" }),
  },
  samples: numberSamples,
});
