/** OLMo 2 and 3: norms behind the branches instead of before them, q and k normed over their full width. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import type { Rope } from "../rope.ts";
import { samplesOf } from "../samples.ts";

const plain = (rope: Rope): Rope => ({ ...rope, scaling: { kind: "none" }, attentionFactor: 1 });

export const olmo2 = defineFamily({
  ...DENSE,
  name: "olmo2",
  architectures: ["olmo2"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "halves" } });
    return { ...h, window: keys.optionalCount("attention.sliding_window"), unusedWindow: 0, localRope: plain(h.rope) };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      // With a window, three layers of four have it, and a rope without scaling.
      const isLocal = h.window !== undefined && layer.index % 4 < 3;
      const attended = layer.part("attention", () => {
        const rope = isLocal ? h.localRope : h.rope;
        const q = layer.rope(layer.projectNormed(x, "q"), "q", rope);
        const k = layer.rope(layer.projectNormed(x, "k"), "k", rope);
        const mixed = layer.attend(q, k, layer.project(x, "v"), { window: isLocal ? h.window : undefined });
        return layer.add(x, layer.norm(mixed, "post_attention_norm"));
      });
      return layer.part("ffn", () =>
        layer.add(attended, layer.norm(layer.gatedFeedForward(attended), "post_ffw_norm")),
      );
    }),
  samples: [
    ...samplesOf("olmo2", { keys: { "attention.layer_norm_rms_epsilon": 1e-6 }, output: "own", equalHeads: true }),
    ...samplesOf("olmo2", {
      keys: {
        block_count: 5,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.sliding_window": 16,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 4,
        "rope.scaling.original_context_length": 32,
      },
      output: "own",
      equalHeads: true,
    })
      .slice(0, 1)
      .map((sample) => ({ ...sample, title: "windows and yarn" })),
  ],
});
