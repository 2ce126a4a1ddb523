/** Hunyuan: heads turned before they are normed; experts with a shared one in the mixtures. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const hunyuan = defineFamily({
  ...DENSE,
  name: "hunyuan",
  architectures: ["hunyuan-dense", "hunyuan-moe"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves" },
      experts: { gating: "softmax", normalise: true, shared: { width: "key", gated: false } },
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const { q, k, v } = layer.turned(layer.heads(input));
        return layer.attend(layer.headNorm(q, "q"), layer.headNorm(k, "k"), v);
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
  samples: [
    ...samplesOf("hunyuan-dense", { keys: { "attention.layer_norm_rms_epsilon": 1e-5 } }),
    ...samplesOf("hunyuan-moe", {
      keys: {
        "attention.layer_norm_rms_epsilon": 1e-5,
        expert_count: 5,
        expert_used_count: 2,
        expert_shared_feed_forward_length: 96,
      },
    }),
  ],
});
