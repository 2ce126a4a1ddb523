/** A GGUF as the graph sees it: an identity and the types of its tensors, never their bytes. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { WeightSource } from "../../ir/graph.ts";
import type { TensorType } from "../../ir/type.ts";
import type { GgufFile } from "./file.ts";
import { quote } from "./header.ts";

export function weightSourceOf(file: GgufFile): WeightSource {
  return {
    identity: file.identity,
    name: file.name,
    tensorType(name): TensorType | undefined {
      const tensor = file.tensor(name);
      if (tensor === undefined) return undefined;
      const { element } = tensor.type;
      if (element === undefined)
        throw new WorkbenchError(
          "UNSUPPORTED_TENSOR_TYPE",
          `[${file.name}] tensor ${quote(name)} is ${tensor.type.name}, which can be inspected but not run`,
          {
            hint: "Use a file in one of F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K (or a mix such as Q4_K_M).",
            details: { type: tensor.type.name, tensor: name },
          },
        );
      return { dtype: element, shape: tensor.shape };
    },
  };
}
