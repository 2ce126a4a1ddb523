/** The Core ML weight profiles side by side: what the package would weigh, exactly, from the form of each tensor. */
import type { Figure, TargetSpec } from "../../contract/views/common.ts";
import type { ProfileChoice } from "../../contract/views/model.ts";
import type { WeightProfile } from "../../backends/coreml/weights/forms.ts";
import { heldFor } from "../../backends/coreml/levers.ts";
import { WEIGHT_PROFILES } from "../../backends/coreml/weights/forms.ts";
import { profileOf, systemOf } from "../../backends/coreml/plan/target.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { figure } from "../measure/forecast.ts";
import { heldBytes } from "../measure/shape.ts";

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
  f32: {
    title: "Unpacked as f32",
    sentence: "Every weight as the f32 that it stands for, and f32 arithmetic: nothing is unpacked while it runs.",
  },
};

/** Of the weights in a package for a target. */
export const packageBytes = (file: GgufFile, target: Parameters<typeof heldFor>[0]): Figure =>
  figure(heldBytes(file.tensors, heldFor(target)), "bytes", "exact", "the form of each tensor times its size");

export function profileChoices(file: GgufFile, target: TargetSpec): readonly ProfileChoice[] {
  if (file.tensors.some(({ type }) => type.element === undefined)) return [];
  const chosen = profileOf(target);
  return WEIGHT_PROFILES.map((profile) => {
    const bytes = packageBytes(file, {
      os: systemOf(target.os).id,
      profile,
      ...(target.options && { options: target.options }),
    });
    return {
      profile,
      ...TITLES[profile],
      bytes,
      ratioToFile: bytes.value / file.byteLength,
      error: null,
      chosenFor: profile === chosen ? target.units : null,
    };
  });
}
