/** A GGUF as the graph sees it: an identity and the types of its tensors, never their bytes. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { PACKED_TYPES } from "../../ir/dtype.ts";
import type { WeightSource } from "../../ir/graph.ts";
import type { TensorType } from "../../ir/type.ts";
import { adaptersOf } from "./adapters.ts";
import type { GgufFile } from "./file.ts";
import { quote } from "./header.ts";

const RUNNABLE = ["f32", "f16", "bf16", ...PACKED_TYPES].map((type) => type.toUpperCase()).join(", ");

export function weightSourceOf(file: GgufFile): WeightSource {
  return {
    identity: file.identity,
    name: file.name,
    has: (name) => file.tensor(name) !== undefined,
    adapters: adaptersOf(file),
    tensorType(name): TensorType | undefined {
      const tensor = file.tensor(name);
      if (tensor === undefined) return undefined;
      const { element } = tensor.type;
      if (element === undefined)
        throw new WorkbenchError(
          "UNSUPPORTED_TENSOR_TYPE",
          `[${file.name}] tensor ${quote(name)} is ${tensor.type.name}${tensor.type.from === undefined ? "" : ` (${tensor.type.from})`}, which can be inspected but not run`,
          {
            hint: `Use a file in one of ${RUNNABLE} (or a mix such as Q4_K_M).`,
            details: { type: tensor.type.name, tensor: name },
          },
        );
      return { dtype: element, shape: tensor.shape };
    },
  };
}
