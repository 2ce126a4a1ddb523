/**
 * LFM2: layers without key heads have a short convolution between two gates instead of attention;
 * the last norm is called token_embd_norm.
 */
import type { Value } from "../../ir/graph.ts";
import type { DenseHyper } from "../dense.ts";
import { DENSE, mixedSentence, mixedSizes, readDense } from "../dense.ts";
import type { LayerPlace } from "../denseBlocks.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { three } from "../parts.ts";
import { sampleOf, samplesOf } from "../samples.ts";
import { shortConvolution } from "../shortConvolution.ts";

interface Lfm2Hyper extends DenseHyper {
  /** Tokens that a convolution sees. */
  readonly taps: number;
}

/** c · conv(b · x), of one matrix that gives b, c and x. */
function gatedConvolution(place: LayerPlace, h: Value, { width, taps }: Lfm2Hyper): Value {
  const { d, block } = place;
  const flat = d.linear(h, `${block}shortconv.in_proj`, [3 * width, width], "b_c_x");
  const [b, c, x] = three(d.g, flat, [width, width, width], "parts");
  const weight = d.matrix(`${block}shortconv.conv.weight`, [width, taps]);
  const mixed = shortConvolution(place, d.g.mul([b, x], {}, "gated_input"), weight);
  return d.linear(d.g.mul([c, mixed], {}, "gated"), `${block}shortconv.out_proj`, [width, width], "output");
}

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  block_count: 3,
  "attention.head_count_kv": [0, 2, 0],
  "shortconv.l_cache": 3,
};
const EXPERTS = {
  ...KEYS,
  block_count: 4,
  "attention.head_count_kv": [0, 2, 0, 2],
  leading_dense_block_count: 1,
  expert_count: 6,
  expert_used_count: 2,
  expert_feed_forward_length: 32,
  expert_gating_func: 2,
};

export const lfm2 = defineFamily<Lfm2Hyper>({
  ...DENSE,
  name: "lfm2",
  architectures: ["lfm2", "lfm2moe"],
  read: (keys) => {
    const taps = keys.positive("shortconv.l_cache");
    if (taps < 2) throw keys.badKey("shortconv.l_cache", taps, "2 or more");
    return {
      ...readDense(keys, {
        rope: { pairing: "halves" },
        attention: "where keys",
        experts: { gating: "sigmoid", reads: "gating", normalise: true },
        // All that attend see a window where the file names one.
        ...(keys.name === "lfm2" && { windows: { period: 0 } }),
      }),
      lastNorm: "token_embd_norm",
      taps,
    };
  },
  sizes: (h) => mixedSizes(h, (h.taps - 1) * h.width, `${h.taps - 1} × ${h.width}`),
  sentence: (h) => mixedSentence(h, "a short convolution"),
  facts: (h) => [...DENSE.facts(h), { label: "short convolution", value: `${h.taps} tokens` }],
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) =>
        h.attends?.(layer.index) === false
          ? gatedConvolution(layer.place, input, h)
          : layer.attend(layer.turned(layer.normed(layer.heads(input)))),
      ),
    ),
  samples: [
    ...samplesOf("lfm2", { keys: KEYS, output: "tied", equalHeads: true }),
    sampleOf("lfm2", "two taps, attention first, one key head, a window", {
      keys: {
        ...KEYS,
        "shortconv.l_cache": 2,
        block_count: 2,
        "attention.head_count_kv": [1, 0],
        "attention.sliding_window": 16,
      },
      output: "tied",
    }),
    ...samplesOf("lfm2moe", { keys: EXPERTS, output: "tied", always: /exp_probs_b/u, equalHeads: true }),
    sampleOf("lfm2moe", "four taps, experts in every layer", {
      keys: { ...EXPERTS, "shortconv.l_cache": 4, leading_dense_block_count: 0, expert_used_count: 3 },
      output: "tied",
      always: /exp_probs_b/u,
    }),
  ],
});
