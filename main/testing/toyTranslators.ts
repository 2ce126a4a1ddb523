/** Toy folders of T5: encoders with a decoder, and encoders alone. */
import { TOY_ROWS } from "./toyFolderParts.ts";
import type { Config, Sizes, ToyFolder } from "./toyFolderParts.ts";

const [WIDTH, INNER, HEADS, HEAD, BUCKETS] = [64, 96, 4, 24, 32];
const T5: Config = {
  ...{ vocab_size: TOY_ROWS, d_model: WIDTH, d_ff: INNER, d_kv: HEAD, num_heads: HEADS, layer_norm_epsilon: 1e-6 },
  ...{ num_layers: 3, num_decoder_layers: 3, relative_attention_num_buckets: BUCKETS, pad_token_id: 0 },
};

interface T5Style {
  readonly isGated?: boolean;
  /** UMT5's: a table of distances in each layer. */
  readonly ownTables?: boolean;
}

function stack(kind: "encoder" | "decoder", layers: number, { isGated, ownTables }: T5Style): Sizes {
  const inner = HEADS * HEAD;
  const attention = (at: string): Sizes => ({
    ...Object.fromEntries(["q", "k", "v"].map((part) => [`${at}.${part}.weight`, [inner, WIDTH]])),
    [`${at}.o.weight`]: [WIDTH, inner],
  });
  const layer = (i: number): Sizes => {
    const at = `${kind}.block.${i}.layer`;
    const last = kind === "encoder" ? 1 : 2;
    const up = isGated === true ? ["wi_0", "wi_1"] : ["wi"];
    return {
      [`${at}.0.layer_norm.weight`]: [WIDTH],
      ...attention(`${at}.0.SelfAttention`),
      ...((i === 0 || ownTables === true) && {
        [`${at}.0.SelfAttention.relative_attention_bias.weight`]: [BUCKETS, HEADS],
      }),
      ...(kind === "decoder" && {
        [`${at}.1.layer_norm.weight`]: [WIDTH],
        ...attention(`${at}.1.EncDecAttention`),
      }),
      [`${at}.${last}.layer_norm.weight`]: [WIDTH],
      ...Object.fromEntries(up.map((name) => [`${at}.${last}.DenseReluDense.${name}.weight`, [INNER, WIDTH]])),
      [`${at}.${last}.DenseReluDense.wo.weight`]: [WIDTH, INNER],
    };
  };
  return {
    ...(Object.assign({}, ...Array.from({ length: layers }, (_, i) => layer(i))) as Sizes),
    [`${kind}.final_layer_norm.weight`]: [WIDTH],
  };
}

const TABLE: Sizes = { "shared.weight": [TOY_ROWS, WIDTH] };
const made = (title: string, kind: string, config: Config, tensors: Sizes): ToyFolder => ({
  title,
  config: { architectures: [kind], ...T5, ...config },
  tensors: Object.entries(tensors),
});
/** It reads a text of some tokens. */
const reading = (count: number, toy: ToyFolder): ToyFolder => ({
  ...toy,
  source: Array.from({ length: count }, (_, i) => (i * 104_729 + 7) % TOY_ROWS),
});

export const TOY_TRANSLATORS: readonly ToyFolder[] = [
  reading(
    150,
    made(
      "t5, tied, an old table beside the look at the text",
      "T5ForConditionalGeneration",
      { num_decoder_layers: 2, decoder_start_token_id: 5, tie_word_embeddings: true },
      {
        ...{ ...TABLE, ...stack("encoder", 3, {}), ...stack("decoder", 2, {}) },
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": [BUCKETS, HEADS],
      },
    ),
  ),
  reading(
    64,
    made(
      "t5, a gate, own output",
      "T5ForConditionalGeneration",
      { feed_forward_proj: "gated-gelu", tie_word_embeddings: false },
      {
        ...{ ...TABLE, ...stack("encoder", 3, { isGated: true }), ...stack("decoder", 3, { isGated: true }) },
        "lm_head.weight": [TOY_ROWS, WIDTH],
      },
    ),
  ),
  reading(
    37,
    made(
      "umt5, a table in each layer, copies of the embedding",
      "UMT5ForConditionalGeneration",
      { feed_forward_proj: "gated-gelu", tie_word_embeddings: false },
      {
        ...TABLE,
        "encoder.embed_tokens.weight": [TOY_ROWS, WIDTH],
        ...stack("encoder", 3, { isGated: true, ownTables: true }),
        ...stack("decoder", 3, { isGated: true, ownTables: true }),
        "lm_head.weight": [TOY_ROWS, WIDTH],
      },
    ),
  ),
];

export const TOY_T5_ENCODERS: readonly ToyFolder[] = [
  made("t5encoder", "T5EncoderModel", {}, { ...TABLE, ...stack("encoder", 3, {}) }),
  made(
    "t5encoder of umt5",
    "UMT5EncoderModel",
    { feed_forward_proj: "gated-gelu" },
    { ...TABLE, ...stack("encoder", 3, { isGated: true, ownTables: true }) },
  ),
];
