/** EXAONE 4: norms behind the branches, heads normed before they turn; in the largest, layers with a window turn and the others do not. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const exaone4 = defineFamily({
  ...DENSE,
  name: "exaone4",
  architectures: ["exaone4"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "halves" } });
    return {
      ...h,
      window: h.layers === 64 ? keys.optionalCount("attention.sliding_window") : undefined,
      unusedWindow: 0,
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const isLocal = h.window !== undefined && layer.index % 4 < 3;
      const attended = layer.part("attention", () => {
        const { q, k, v } = layer.heads(x);
        const normed = { q: layer.headNorm(q, "q"), k: layer.headNorm(k, "k"), v };
        const turned = h.window === undefined || isLocal ? layer.turned(normed) : normed;
        const mixed = layer.attend(turned.q, turned.k, v, { window: isLocal ? h.window : undefined });
        return layer.add(x, layer.norm(mixed, "post_attention_norm"));
      });
      return layer.part("ffn", () =>
        layer.add(attended, layer.norm(layer.gatedFeedForward(attended), "post_ffw_norm")),
      );
    }),
  samples: [
    ...samplesOf("exaone4", { keys: { "attention.layer_norm_rms_epsilon": 1e-5 } }),
    ...samplesOf("exaone4", {
      keys: {
        "attention.layer_norm_rms_epsilon": 1e-5,
        block_count: 64,
        embedding_length: 32,
        "attention.head_count": 4,
        feed_forward_length: 32,
        "attention.sliding_window": 16,
      },
    })
      .slice(0, 1)
      .map((sample) => ({ ...sample, title: "64 layers, a quarter of them sees all" })),
  ],
});
