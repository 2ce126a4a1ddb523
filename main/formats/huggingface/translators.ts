/**
 * T5 and its relatives (mT5, UMT5, Flan): an encoder with a decoder behind it, or the encoder alone. The tables of
 * distances belong to the first layer of each; UMT5 has one in every layer.
 */
import type { TensorBytes } from "../tensorBytes.ts";
import { mapped } from "../tensorBytes.ts";
import { headsOf, layersOf, needed, refuse, widthOf } from "./keys.ts";
import type { HfConfig, Keys } from "./keys.ts";
import type { HfFamily, TensorNames } from "./parts.ts";

/** A gate is there or not; what bends the numbers follows from it. */
const NETWORKS = ["relu", "gated-gelu"];
const FARTHEST = 128;

function keys(config: HfConfig): Keys {
  const { json } = config;
  const network = json.text("feed_forward_proj") ?? "relu";
  if (!NETWORKS.includes(network)) throw refuse(config, "feed_forward_proj", network, NETWORKS.join(" or "));
  const farthest = json.number("relative_attention_max_distance") ?? FARTHEST;
  if (farthest !== FARTHEST)
    throw refuse(config, "relative_attention_max_distance", String(farthest), String(FARTHEST));
  return {
    // No table of positions ends: it is what the model was trained with.
    context_length: json.number("n_positions") ?? 512,
    embedding_length: widthOf(config),
    block_count: layersOf(config),
    feed_forward_length: needed(config, "d_ff"),
    "attention.head_count": headsOf(config),
    "attention.head_count_kv": headsOf(config),
    "attention.key_length": needed(config, "d_kv"),
    "attention.value_length": needed(config, "d_kv"),
    "attention.layer_norm_rms_epsilon": json.number("layer_norm_epsilon") ?? 1e-6,
    "attention.relative_buckets_count": json.number("relative_attention_num_buckets") ?? 32,
  };
}

/** Tied models divide what the decoder gives by the root of the width: its last norm's weight does so in a GGUF. */
function lastNorm(tensor: TensorBytes, config: HfConfig): TensorBytes {
  const isScaled = config.json.flag("scale_decoder_outputs", "tie_word_embeddings") ?? true;
  const root = Math.sqrt(widthOf(config));
  return isScaled ? mapped(tensor, (value) => Math.fround(value / root)) : tensor;
}

/** A layer's parts in turn: attention, for the decoder a look at the text, the network. */
function layers(from: "encoder" | "decoder", to: "enc" | "dec"): TensorNames {
  const [start, block] = [`${from}.block.{i}.layer`, `${to}.blk.{i}.`];
  const network = from === "encoder" ? 1 : 2;
  const attention = (at: string, name: string): TensorNames =>
    Object.fromEntries(["q", "k", "v", "o"].map((part) => [`${at}.${part}`, `${block}${name}_${part}`]));
  return {
    [`${start}.0.layer_norm`]: `${block}attn_norm`,
    ...attention(`${start}.0.SelfAttention`, "attn"),
    [`${start}.0.SelfAttention.relative_attention_bias`]: `${block}attn_rel_b`,
    ...(from === "decoder" && {
      [`${start}.1.layer_norm`]: `${block}cross_attn_norm`,
      ...attention(`${start}.1.EncDecAttention`, "cross_attn"),
    }),
    [`${start}.${network}.layer_norm`]: `${block}ffn_norm`,
    [`${start}.${network}.DenseReluDense.wi`]: `${block}ffn_up`,
    [`${start}.${network}.DenseReluDense.wi_0`]: `${block}ffn_gate`,
    [`${start}.${network}.DenseReluDense.wi_1`]: `${block}ffn_up`,
    [`${start}.${network}.DenseReluDense.wo`]: `${block}ffn_down`,
  };
}

const EMBEDDING = { name: "token_embd", isCopy: true } as const;
const ENCODER: TensorNames = {
  shared: EMBEDDING,
  "encoder.embed_tokens": EMBEDDING,
  "encoder.final_layer_norm": "enc.output_norm",
  ...layers("encoder", "enc"),
};

export const TRANSLATORS: readonly HfFamily[] = [
  {
    architecture: "t5",
    names: [
      "T5ForConditionalGeneration",
      "T5WithLMHeadModel",
      "MT5ForConditionalGeneration",
      "UMT5ForConditionalGeneration",
    ],
    keys: (config) => ({
      ...keys(config),
      decoder_block_count: config.json.number("num_decoder_layers"),
      decoder_start_token_id: config.json.number("decoder_start_token_id", "pad_token_id") ?? 0,
    }),
    tensors: {
      ...ENCODER,
      "decoder.embed_tokens": EMBEDDING,
      "decoder.final_layer_norm": { name: "dec.output_norm", change: lastNorm },
      lm_head: "output",
      ...layers("decoder", "dec"),
    },
    storedOutput: true,
  },
  {
    architecture: "t5encoder",
    names: ["T5EncoderModel", "MT5EncoderModel", "UMT5EncoderModel"],
    keys: (config) => ({ ...keys(config), "attention.causal": false }),
    tensors: ENCODER,
  },
];
