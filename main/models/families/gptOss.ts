/**
 * gpt-oss: attention with sinks, a window in every other layer, biases everywhere, experts whose
 * weights are a softmax over the picked ones and whose activation has limits.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  "attention.sliding_window": 16,
  "rope.scaling.type": "yarn",
  "rope.scaling.factor": 8,
  "rope.scaling.original_context_length": 32,
  expert_count: 6,
  expert_used_count: 3,
  expert_feed_forward_length: 32,
};
const STYLE = { output: "own", always: /attn_(q|k|v|output)\.bias|ffn_.*(inp|exps)\.bias|attn_sinks/u } as const;

export const gptOss = defineFamily({
  ...DENSE,
  name: "gptOss",
  architectures: ["gpt-oss"],
  read: (keys) =>
    readDense(keys, {
      rope: { pairing: "halves" },
      windows: { period: 2, rope: { base: "same", isScaled: true } },
      experts: { gating: "chosen", normalise: false, activation: "limited" },
    }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) =>
        layer.attend(layer.turned(layer.heads(input)), "with sinks"),
      );
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input), "post_attention_norm");
    }),
  samples: [
    ...samplesOf("gpt-oss", { keys: KEYS, ...STYLE }),
    sampleOf("gpt-oss", "one expert, no yarn, a window of one", {
      keys: {
        "attention.layer_norm_rms_epsilon": 1e-5,
        "attention.sliding_window": 1,
        expert_count: 4,
        expert_used_count: 1,
        expert_feed_forward_length: 160,
      },
      ...STYLE,
    }),
  ],
});
