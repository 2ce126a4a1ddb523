/**
 * Command R and Command A: both branches from one norm without a bias. From the second generation
 * on, layers with a window turn their heads and the others do not.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_epsilon": 1e-5, logit_scale: 0.25 };
const WINDOW = { ...KEYS, "attention.sliding_window": 16 };

export const commandR = defineFamily({
  ...DENSE,
  name: "commandR",
  architectures: ["command-r", "cohere2"],
  read: (keys) => {
    const scale = keys.optionalNumber("logit_scale") ?? 0;
    return {
      ...readDense(keys, {
        rope: { pairing: "adjacent" },
        norm: "layer",
        ...(keys.name === "cohere2" && { windows: { period: 4 } }),
      }),
      scales: { logits: scale === 0 ? 1 : scale },
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.parallel(
        x,
        (input) => {
          const heads = layer.normedIfGiven(layer.heads(input), "each");
          return layer.attend(h.windows === undefined || layer.isLocal ? layer.turned(heads) : heads);
        },
        (input) => layer.gatedFeedForward(input),
      ),
    ),
  samples: [
    ...samplesOf("command-r", { keys: KEYS, output: "tied", optional: /attn_[qkv]\.bias/u, equalHeads: true }),
    sampleOf("command-r", "64 layers, heads normed one by one", {
      keys: { ...KEYS, block_count: 64, embedding_length: 32, feed_forward_length: 32, "attention.head_count": 4 },
      output: "tied",
      always: /attn_[qk]_norm\.weight/u,
    }),
    ...samplesOf("cohere2", { keys: WINDOW, output: "tied", optional: /attn_[qkv]\.bias/u, equalHeads: true }),
    sampleOf("cohere2", "five layers, one of them sees all", { keys: { ...WINDOW, block_count: 5 }, output: "tied" }),
    sampleOf("cohere2", "every other layer sees all", {
      keys: { ...WINDOW, block_count: 4, "attention.sliding_window_pattern": 2 },
      output: "tied",
    }),
  ],
});
