/**
 * Sums in ggml's order and roundings where it rounds, so that log-probabilities of f32 and f16 files are llama.cpp's own bit
 * for bit (on x86; decision 15). Beside packed weights ggml rounds activations to 8 bits: those products stay ours, which
 * are nearer to the exact model, and so does everything else of such a file.
 */
import { blockLayout } from "../../ir/dtype.ts";
import type { PlanDraft } from "./draft.ts";

/** The kernels that add or round otherwise where nothing else is asked. */
const OTHERWISE: ReadonlySet<string> = new Set([
  "linear",
  "linear_block",
  "rope_tables",
  "attention",
  "attention_block",
  "gelu_tanh",
  "elementwise_region", // a gelu_tanh may be one of its steps
]);

export const canFollowGgml = (draft: PlanDraft): boolean =>
  draft.values.every(
    ({ type, buffer }) =>
      draft.kindOf(buffer).kind !== "weight" || (blockLayout(type.dtype).elements === 1 && type.dtype !== "bf16"),
  );

export function followGgml(draft: PlanDraft): void {
  draft.instructions = draft.instructions.map((instruction) =>
    OTHERWISE.has(instruction.kernel)
      ? { ...instruction, params: { ...instruction.params, asGgml: true } }
      : instruction,
  );
}
