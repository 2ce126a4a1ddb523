/** dots.llm1: heads normed before they turn; after the first layers experts, picked by sigmoid and a bias, with a shared one. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const dots1 = defineFamily({
  ...DENSE,
  name: "dots1",
  architectures: ["dots1"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves" },
      experts: { gating: "sigmoid", normalise: "file", shared: { width: "count", gated: false } },
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const { q, k, v } = layer.heads(input);
        const turned = layer.turned({ q: layer.headNorm(q, "q"), k: layer.headNorm(k, "k"), v });
        return layer.attend(turned.q, turned.k, v);
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
  samples: samplesOf("dots1", {
    keys: {
      "attention.layer_norm_rms_epsilon": 1e-5,
      block_count: 3,
      leading_dense_block_count: 1,
      expert_count: 6,
      expert_used_count: 2,
      expert_feed_forward_length: 32,
      expert_shared_count: 2,
      expert_gating_func: 2,
      expert_weights_norm: true,
      expert_weights_scale: 2.5,
    },
    output: "own",
    optional: /exp_probs_b/u,
  }),
});
