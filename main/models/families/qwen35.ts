/**
 * Qwen3.5 to 3.8: value heads take the key heads in turn. Positions have parts for time, height and
 * width, which are equal in text.
 */
import { DELTA, DELTA_EXPERTS, DELTA_KEYS, readDelta, THREE_KEY_HEADS } from "../deltaDecoder.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { ...DELTA_KEYS, "rope.dimension_sections": [2, 1, 1, 0] };

export const qwen35 = defineFamily({
  ...DELTA,
  name: "qwen35",
  architectures: ["qwen35", "qwen35moe"],
  read: (keys) =>
    readDelta(keys, "rounds", {
      gating: "softmax",
      normalise: true,
      width: "all of a token",
      shared: { width: "key", gated: true },
    }),
  samples: [
    ...samplesOf("qwen35", { keys: KEYS }),
    sampleOf("qwen35", "a layer that guesses ahead, three key heads, layers as listed", {
      keys: {
        ...KEYS,
        ...THREE_KEY_HEADS,
        nextn_predict_layers: 1,
        block_count: 5,
        "attention.recurrent_layers": [true, true, false, false, false],
      },
      drafts: 1,
      output: "own",
      full: true,
    }),
    ...samplesOf("qwen35moe", { keys: { ...KEYS, ...DELTA_EXPERTS } }),
    sampleOf("qwen35moe", "a key head for each value head, three taps, every fourth layer attends", {
      keys: {
        ...KEYS,
        ...DELTA_EXPERTS,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "ssm.group_count": 4,
        "ssm.conv_kernel": 3,
        full_attention_interval: 4,
      },
      output: "own",
      full: true,
    }),
  ],
});
