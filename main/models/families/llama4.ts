/**
 * Llama 4: three layers of four turn their heads and see the chunk of 8192 positions that they are in; the
 * others do not turn, see everything, and have queries that grow with their position. Experts in every so
 * many layers, their weights on what goes in.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf, sampleOf } from "../samples.ts";
import { localRope, readWindows } from "../windows.ts";

const CHUNK = 8192;
const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  block_count: 4,
  interleave_moe_layer_step: 2,
  expert_count: 4,
  expert_used_count: 1,
  expert_feed_forward_length: 32,
};

export const llama4 = defineFamily({
  ...DENSE,
  name: "llama4",
  architectures: ["llama4"],
  read: (keys) => {
    if (keys.optionalCount("attention.sliding_window") === 0)
      throw keys.refuse(
        "It has no chunks of positions (sliding_window 0); only Llama 4 files with them are supported.",
      );
    const h = readDense(keys, {
      rope: { pairing: "adjacent", factors: "rope_freqs.weight" },
      experts: {
        gating: "chosen sigmoid",
        normalise: false,
        weighsInputs: true,
        shared: { width: "expert", gated: false },
      },
    });
    const rope = { base: "same", isScaled: true } as const;
    const pattern = readWindows(keys, h.layers, { period: 4, size: CHUNK });
    return {
      ...h,
      unusedWindow: 0,
      windows: pattern && { ...pattern, size: CHUNK, isChunked: true },
      localRope: localRope(keys, h.rope, rope),
      temperature: { scale: 0.1, offset: 1, each: CHUNK },
      hasHeadNorm: h.experts?.count !== 128,
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => {
        const heads = layer.heads(input);
        if ((layer.index + 1) % 4 === 0) return layer.attend(layer.warmed(heads));
        const turned = layer.turned(heads);
        return layer.attend(h.hasHeadNorm ? layer.plainlyNormed(turned) : turned);
      }),
    ),
  samples: [
    ...samplesOf("llama4", { keys: KEYS, optional: /attn_[qkv]\.bias/u }),
    sampleOf("llama4", "128 experts, heads without a norm", {
      keys: { ...KEYS, expert_count: 128, expert_used_count: 3 },
    }),
    sampleOf("llama4", "five layers, experts in each, divisors of rope", {
      keys: { ...KEYS, block_count: 5, interleave_moe_layer_step: 1, expert_used_count: 2, "rope.freq_base_swa": 5000 },
      marks: { "rope_freqs.weight": [8] },
    }),
  ],
});
