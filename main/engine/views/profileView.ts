/** The Core ML weight profiles side by side: what the package would weigh, exactly, from the form of each tensor. */
import type { TargetSpec } from "../../contract/views/common.ts";
import type { ProfileChoice } from "../../contract/views/model.ts";
import type { WeightProfile } from "../../backends/coreml/weights/forms.ts";
import { bitsPerWeight, formFor } from "../../backends/coreml/weights/forms.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { figure } from "../measure/forecast.ts";

const TITLES: Readonly<Record<WeightProfile, { readonly title: string; readonly sentence: string }>> = {
  gpu: {
    title: "Packed for the GPU",
    sentence:
      "Weights stay in blocks of 4 to 8 bits. Under CPU and Neural Engine alone, Core ML would move them to the CPU.",
  },
  ane: {
    title: "For the Neural Engine",
    sentence: "Weights are stored as f16, which the Neural Engine reads directly.",
  },
  exact: {
    title: "Exact",
    sentence: "Every weight exactly as the file has it, computed in f32. For CPU and GPU, to compare against.",
  },
};

/** The weight profile follows the compute units unless it was chosen. */
export const profileOf = (target: TargetSpec): WeightProfile =>
  target.profile === "auto" ? (target.units === "cpu-gpu" || target.units === "all" ? "gpu" : "ane") : target.profile;

export function profileChoices(file: GgufFile, target: TargetSpec): readonly ProfileChoice[] {
  const chosen = profileOf(target);
  return (["gpu", "ane", "exact"] as const).flatMap((profile): readonly ProfileChoice[] => {
    const bytes = packageBytes(file, profile);
    if (bytes === undefined) return [];
    return [
      {
        profile,
        ...TITLES[profile],
        bytes: figure(bytes, "bytes", "exact", "the form of each tensor times its size"),
        ratioToFile: bytes / file.byteLength,
        error: null,
        chosenFor: profile === chosen ? target.units : null,
      },
    ];
  });
}

/** undefined when a tensor has a type that has no mapping. */
export function packageBytes(file: GgufFile, profile: WeightProfile): number | undefined {
  let bits = 0;
  for (const tensor of file.tensors) {
    if (tensor.type.element === undefined) return undefined;
    try {
      bits += bitsPerWeight(formFor(tensor.type.element, profile)) * tensor.elements;
    } catch (error) {
      if (error instanceof WorkbenchError && error.code === "UNSUPPORTED_TENSOR_TYPE") return undefined;
      throw error;
    }
  }
  return bits / 8;
}
