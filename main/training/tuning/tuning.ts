/** A training of a model's file: what a `TrainingSession` is made of. Its steps take `tokens` and `targets`, i32 [batch, context]. */
import type { Graph } from "../../ir/graph.ts";
import type { WindowSizes } from "./windowGraph.ts";
import { IGNORED } from "./windowGraph.ts";

export interface Tuning extends WindowSizes {
  readonly kind: "lora" | "full";
  /** One output, `loss`: the mean cross-entropy of the targets that count. Trained weights are inputs, the others those of the file. */
  readonly graph: Graph;
  /** What the model says of one window: `tokens` i32 [context] and the trained weights in, `logits` f32 [context, vocabulary] out. */
  readonly logits: Graph;
  readonly trainable: readonly string[];
  /** What they begin with. */
  readonly initial: Readonly<Record<string, Float32Array>>;
}

/** A window of a text: its tokens, and which of them are to be learned. */
export interface TokenWindow {
  readonly tokens: ArrayLike<number>;
  /** True for tokens that are learned; all of them without it. */
  readonly learned?: ArrayLike<boolean>;
}

/**
 * What a step is given: each token's target is the one behind it. A window holds up to context + 1 tokens, the last of which is
 * only a target; shorter ones are padded, and missing windows are empty.
 */
export function batchOf(
  { context, batch }: WindowSizes,
  windows: readonly TokenWindow[],
): { readonly tokens: Int32Array; readonly targets: Int32Array } {
  const tokens = new Int32Array(batch * context);
  const targets = new Int32Array(batch * context).fill(IGNORED);
  windows.slice(0, batch).forEach((window, row) => {
    const at = row * context;
    for (let i = 0; i < Math.min(context, window.tokens.length); i++) tokens[at + i] = window.tokens[i] ?? 0;
    for (let i = 0; i < Math.min(context, window.tokens.length - 1); i++)
      if (window.learned?.[i + 1] !== false) targets[at + i] = window.tokens[i + 1] ?? IGNORED;
  });
  return { tokens, targets };
}
