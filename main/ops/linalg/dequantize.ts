import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { isPacked } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, nondifferentiable, unsupported } from "../defineOp.ts";
import { WEIGHTS, cpuKernel } from "../../backends/cpu/rules.ts";
import { sample, weight } from "../families/samples.ts";

export const dequantize: Op<"dequantize", NoAttrs, 1> = defineOp({
  name: "dequantize",
  summary: "A packed weight as f32; of experts, [experts, out, in], all at once.",
  arity: 1,
  operands: ["packed weight"],
  outputs: "one",
  attributes: {},
  infer: ([w]) => {
    if (!isPacked(w.dtype))
      throw new WorkbenchError("IR_TYPE", `[dequantize] operand: got ${formatType(w)}, expected a packed type`, {
        hint: "Use cast for plain dtypes.",
      });
    return tensor("f32", w.shape);
  },
  // The evaluator hands packed tensors over as the numbers that their blocks stand for.
  reference: ([w]) => hostTensor("f32", w.shape, w.data),
  oracle: { numpy: "x0" },
  gradient: nondifferentiable("packed blocks are codes, not numbers with a neighbourhood"),
  batching: unsupported("a packed weight is a parameter: there is no batch of it"),
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("dequantize", { takes: WEIGHTS }),
    coreml: milNative((e, [w]) => e.dense(w)),
    mlx: mlxCall("dequantize"),
  },
  samples: [
    sample("q8_0", [weight(1, [3, 32], "q8_0")], {}),
    sample("q4_k", [weight(2, [2, 256], "q4_k")], {}),
    sample("q6_k", [weight(3, [1, 512], "q6_k")], {}),
    sample("q5_1, odd number of rows", [weight(4, [5, 64], "q5_1")], {}),
    sample("q8_0, symbolic number of rows", [weight(6, ["N", 64], "q8_0")], {}, { bindings: { N: 7 } }),
    sample("more dimensions than Core ML has", [weight(5, [1, 1, 2, 1, 1, 256], "q6_k")], {}),
  ],
});
