/**
 * BERT and its relatives: both ways, norms behind each branch. They differ in how positions are told (learned
 * vectors, rope, scores that fall with the distance) and in the feed-forward network.
 */
import type { Value } from "../../ir/graph.ts";
import type { DenseLayer } from "../denseBlocks.ts";
import type { EncoderHyper } from "../encoder.ts";
import { ENCODER, rankHead, readEncoder, textLayers, withTypes } from "../encoder.ts";
import { defineEncoder } from "../family.ts";
import type { HyperReader } from "../hyperReader.ts";
import { sampleOf, samplesOf } from "../samples.ts";

type FeedForward = "gelu" | "gated gelu" | "gated silu";

interface BertHyper extends EncoderHyper {
  readonly positions: "learned" | "rope" | "distance";
  readonly network: FeedForward;
}

const POSITIONS: Readonly<Record<string, BertHyper["positions"]>> = { bert: "learned", "jina-bert-v2": "distance" };

function networkOf(keys: HyperReader, { feedForward }: EncoderHyper): Pick<BertHyper, "network" | "fusedGate"> {
  if (keys.name === "nomic-bert") return { network: "gated silu" };
  if (keys.name !== "jina-bert-v2") return { network: "gelu" };
  if (keys.has("blk.0.ffn_gate.weight")) return { network: "gated gelu" };
  const rows = keys.file.tensor("blk.0.ffn_up.weight")?.shape[0];
  return rows === 2 * feedForward ? { network: "gated gelu", fusedGate: true } : { network: "gelu" };
}

function read(keys: HyperReader): BertHyper {
  const h = readEncoder(keys, {
    rope: { pairing: "halves" },
    norm: "layer",
    experts: { gating: "softmax", normalise: false, width: "feed_forward_length", activation: "gelu alone" },
  });
  const positions = POSITIONS[keys.name] ?? "rope";
  const every = keys.optionalCount("moe_every_n_layers") ?? 0;
  return {
    ...h,
    ...networkOf(keys, h),
    positions,
    rope: positions === "rope" ? h.rope : { ...h.rope, dims: 0 },
    experts: h.experts && { ...h.experts, isMixture: (layer) => every > 0 && layer % every === 1 },
  };
}

function block(layer: DenseLayer, x: Value, { positions, network }: BertHyper): Value {
  const attended = layer.part("attention", () => {
    const heads = layer.wideNormedIfGiven(layer.heads(x));
    const branch = layer.attend(positions === "rope" ? layer.turned(heads) : heads);
    const normed = layer.norm(layer.add(x, branch), "attn_output_norm");
    return layer.has("attn_norm_2.weight") ? layer.norm(layer.add(x, normed), "attn_norm_2") : normed;
  });
  return layer.part("ffn", () => layer.norm(layer.add(attended, fed(layer, attended, network)), "layer_output_norm"));
}

function fed(layer: DenseLayer, x: Value, network: FeedForward): Value {
  switch (network) {
    case "gelu":
      // These models were trained with erf; llama.cpp's tanh form differs from it in the fourth digit.
      return layer.feedForward(x, "gelu_exact");
    case "gated gelu":
      return layer.gatedFeedForward(x, "gelu");
    case "gated silu":
      return layer.gatedFeedForward(x, "silu");
  }
}

const KEYS = {
  "attention.layer_norm_epsilon": 1e-12,
  "attention.causal": false,
  ":tokenizer.ggml.token_type_count": 2,
};
const RELATED = { keys: KEYS, output: "tied", always: /norm\.bias/u, equalHeads: true } as const;
const BIASES = /attn_(q|k|v|output)\.bias|ffn_(up|down)\.bias/u;
const typed = (width: number) => ({ "token_types.weight": [2, width] });
const LABELS = ["no", "rather", "yes"];

export const bert = defineEncoder<BertHyper>({
  ...ENCODER,
  name: "bert",
  architectures: ["bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3"],
  read,
  embedder: {
    reading: ({ embedder }) => embedder,
    graph: textLayers<BertHyper>({
      block,
      begin: (d, x, h) => withTypes(d, h, h.positions === "learned" ? d.withPositions(x) : x),
      rules: ({ positions, embedder, name }) => ({
        sight: "both ways",
        ...(positions === "distance" && { alibi: 8 }),
        rank: rankHead(embedder.labels, name === "jina-bert-v2" ? { inner: 1 } : {}),
      }),
    }),
  },
  samples: [
    ...samplesOf("bert", {
      ...RELATED,
      keys: { ...KEYS, pooling_type: 1 },
      always: /norm\.bias|^blk.*bias/u,
      marks: typed,
    }),
    sampleOf("bert", "cls, one matrix for q, k and v, no types", {
      ...RELATED,
      keys: { ...KEYS, pooling_type: 2 },
      always: /norm\.bias|attn_qkv/u,
    }),
    sampleOf("bert", "scores with names", {
      ...RELATED,
      keys: { ...KEYS, pooling_type: 4, "classifier.output_labels": LABELS },
      always: /norm\.bias|^blk.*bias|^cls.*bias/u,
      marks: (width) => ({ ...typed(width), "cls.weight": [width, width], "cls.output.weight": [3, width] }),
    }),
    ...samplesOf("nomic-bert", { ...RELATED, keys: { ...KEYS, pooling_type: 1 }, marks: typed }),
    ...samplesOf("nomic-bert-moe", {
      ...RELATED,
      keys: { ...KEYS, pooling_type: 1, moe_every_n_layers: 2, expert_count: 5, expert_used_count: 2 },
      optional: BIASES,
      marks: typed,
    }),
    ...samplesOf("jina-bert-v2", {
      ...RELATED,
      ownKeys: true,
      keys: { ...KEYS, pooling_type: 1 },
      always: /norm\.bias|attn_output\.bias|ffn_down\.bias/u,
      optional: /attn_(q|k)_norm|attn_norm_2/u,
      marks: (width, inner) => ({ ...typed(width), "blk.0.ffn_gate.weight": [inner, width] }),
    }),
    sampleOf("jina-bert-v2", "gate and up in one matrix, six heads, a score", {
      ...RELATED,
      keys: { ...KEYS, pooling_type: 4 },
      always: /norm\.bias|attn_output\.bias|ffn_down\.bias|^cls\.bias/u,
      marks: (width) => ({ ...typed(width), "blk.0.ffn_up.weight": [128, width], "cls.weight": [1, width] }),
    }),
    ...samplesOf("jina-bert-v3", {
      ...RELATED,
      keys: { ...KEYS, pooling_type: 1, "rope.freq_base": 20000 },
      optional: BIASES,
      marks: typed,
    }),
  ],
});
