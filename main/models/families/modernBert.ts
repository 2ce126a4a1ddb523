/**
 * ModernBERT: both ways, a norm before each branch, a gate in the first half of ffn_up; two layers of three see a
 * window to both sides, with a rope of their own.
 */
import type { Value } from "../../ir/graph.ts";
import type { Activation } from "../activation.ts";
import type { DenseLayer } from "../denseBlocks.ts";
import type { EncoderHyper } from "../encoder.ts";
import { ENCODER, rankHead, readEncoder, textLayers, withTypes } from "../encoder.ts";
import { defineEncoder } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

interface ModernHyper extends EncoderHyper {
  readonly activation: Activation;
}

/** By hidden_activation; llama.cpp takes gelu for other words, too. */
const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  silu: "silu",
  swish: "silu",
  swiglu: "silu",
  reglu: "relu",
};

function block(layer: DenseLayer, x: Value, { activation }: ModernHyper): Value {
  const attention = (input: Value): Value => layer.attend(layer.turned(layer.heads(input)));
  // The embedding is normed already: the first layer has no norm of its own.
  const attended = layer.has("attn_norm.weight")
    ? layer.residual("attention", x, attention)
    : layer.part("attention", () => layer.add(x, attention(x)));
  return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input, activation));
}

// llama.cpp ends itself where no layer, or each, has a window.
const KEYS = {
  block_count: 3,
  "attention.layer_norm_epsilon": 1e-5,
  "attention.causal": false,
  "attention.sliding_window": 16,
  "rope.freq_base": 160_000,
  pooling_type: 2,
};
const STYLE = { output: "tied", equalHeads: true, ownKeys: true, always: /attn_qkv\.weight/u } as const;

export const modernBert = defineEncoder<ModernHyper>({
  ...ENCODER,
  name: "modernBert",
  architectures: ["modern-bert"],
  read: (keys) => ({
    ...readEncoder(keys, {
      rope: { pairing: "halves" },
      norm: "layer",
      windows: { period: 3, isDenseFirst: true, rope: { base: 10_000, isScaled: false } },
    }),
    fusedGate: true,
    activation: ACTIVATIONS[keys.optionalText("hidden_activation") ?? ""] ?? "gelu",
  }),
  embedder: {
    reading: ({ embedder }) => embedder,
    graph: textLayers<ModernHyper>({
      block,
      begin: (d, x, h) => withTypes(d, h, x),
      rules: ({ embedder }) => ({
        sight: "both ways",
        finalNorm: "output_norm",
        rank: rankHead(embedder.labels, { row: "mean", activation: "gelu" }),
      }),
    }),
  },
  samples: [
    ...samplesOf("modern-bert", {
      ...STYLE,
      keys: KEYS,
      optional: /blk\.[1-9]\.attn_norm\.weight/u,
      always: /attn_qkv\.weight|blk\.[1-9]\.attn_norm\.weight/u,
    }),
    sampleOf("modern-bert", "seven layers, silu, a base for windows, a mean", {
      ...STYLE,
      keys: {
        ...KEYS,
        block_count: 7,
        hidden_activation: "silu",
        pooling_type: 1,
        "rope.freq_base_swa": 5000,
        "attention.sliding_window": 7,
      },
      always: /attn_qkv\.weight|attn_norm\.weight/u,
    }),
    sampleOf("modern-bert", "scores, no windows", {
      ...STYLE,
      keys: { ...KEYS, pooling_type: 4, "attention.sliding_window": 0 },
      always: /attn_qkv\.weight|blk\.[1-9]\.attn_norm\.weight|cls\.norm\.weight|cls\.output\.bias/u,
      marks: (width) => ({ "cls.weight": [width, width], "cls.output.weight": [1, width] }),
    }),
  ],
});
