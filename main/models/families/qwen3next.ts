/** Qwen3-Next: runs of value heads share a key head; experts in every layer, one of them for all tokens. */
import { DELTA, DELTA_EXPERTS, DELTA_KEYS, readDelta, THREE_KEY_HEADS } from "../deltaDecoder.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { ...DELTA_KEYS, ...DELTA_EXPERTS };

export const qwen3next = defineFamily({
  ...DELTA,
  name: "qwen3next",
  architectures: ["qwen3next"],
  read: (keys) =>
    readDelta(keys, "runs", {
      gating: "softmax",
      normalise: true,
      width: "all of a token",
      shared: { width: "key or feed_forward_length", gated: true },
    }),
  samples: [
    sampleOf("qwen3next", "one matrix for the delta net, three key heads, three taps", {
      keys: {
        ...KEYS,
        ...THREE_KEY_HEADS,
        "ssm.conv_kernel": 3,
        block_count: 3,
        full_attention_interval: 3,
      },
      always: /ssm_in\.weight/u,
      output: "own",
      full: true,
    }),
    ...samplesOf("qwen3next", { keys: KEYS }),
  ],
});
