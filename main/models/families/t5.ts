/**
 * T5: an encoder reads a text, a decoder writes what becomes of it. No rope; scores get a bias by how far a key is away,
 * from a table for the encoder and one for the decoder, which their layers share, or one for each layer (UMT5).
 */
import type { Value } from "../../ir/graph.ts";
import type { DenseHyper } from "../dense.ts";
import { DENSE, readDense } from "../dense.ts";
import type { DenseLayer } from "../denseBlocks.ts";
import { denseLayers } from "../denseBlocks.ts";
import { lookAtSource, SourceDecoder, sourceGraph } from "../encoderDecoder.ts";
import { defineFamily } from "../family.ts";
import { relativeBias } from "../relativeBias.ts";
import { sampleOf, samplesOf } from "../samples.ts";

interface T5Hyper {
  readonly encoder: DenseHyper;
  readonly decoder: DenseHyper;
  readonly buckets: number;
  /** The decoder's first token. */
  readonly start: number;
}

/** A gate with gelu, or relu without one. */
export const t5FeedForward = (layer: DenseLayer, input: Value): Value =>
  layer.has("ffn_gate.weight") ? layer.gatedFeedForward(input, "gelu") : layer.feedForward(input, "relu");

/** A layer of the encoder. */
export const t5Block = (layer: DenseLayer, x: Value): Value =>
  layer.preNorm(
    x,
    (input) => layer.attend(layer.heads(input)),
    (input) => t5FeedForward(layer, input),
  );

export const T5_ENCODER = {
  names: { block: "enc.blk", output: "attn_o" },
  norm: "enc.output_norm",
} as const;
const DECODER = {
  names: { block: "dec.blk", output: "attn_o" },
  norm: "dec.output_norm",
} as const;

const decoderBlock =
  (h: DenseHyper) =>
  (layer: DenseLayer<SourceDecoder>, x: Value): Value => {
    const attended = layer.residual("attention", x, (input) => layer.attend(layer.heads(input)));
    const informed = layer.residual("cross", attended, (input) => lookAtSource(layer, input, h));
    return layer.residual("ffn", informed, (input) => t5FeedForward(layer, input));
  };

const style = {
  keys: {
    "attention.layer_norm_rms_epsilon": 1e-6,
    "attention.relative_buckets_count": 32,
    decoder_start_token_id: 3,
  },
  ownKeys: true,
  optional: /ffn_gate\.weight/u,
} as const;

export const t5 = defineFamily<T5Hyper>({
  name: "t5",
  architectures: ["t5"],
  read: (keys) => {
    const dense = readDense(keys, { rope: { pairing: "halves" }, sight: "both ways" });
    const both = { ...dense, rope: { ...dense.rope, dims: 0 }, attentionScale: 1 };
    const start =
      keys.optionalCount("decoder_start_token_id") ??
      keys.file.metadata.optionalCount("tokenizer.ggml.bos_token_id") ??
      0;
    if (start >= dense.vocabulary)
      throw keys.badKey("decoder_start_token_id", start, `a token below ${dense.vocabulary}`);
    const layers = keys.optionalCount("decoder_block_count") ?? dense.layers;
    if (layers < 1 || layers > 10_000) throw keys.badKey("decoder_block_count", layers, "1 to 10000");
    return {
      encoder: { ...both, names: T5_ENCODER.names },
      decoder: { ...both, names: DECODER.names, layers, lastNorm: DECODER.norm },
      buckets: keys.positive("attention.relative_buckets_count"),
      start,
    };
  },
  sizes: ({ decoder }) => {
    const { cache, ...sizes } = DENSE.sizes(decoder);
    // Its attention adds biases, which is not done over packed rows.
    return { ...sizes, cache: { elements: cache.elements, product: cache.product } };
  },
  // Published checkpoints have this table; no layer reads it.
  isBeside: (tensor) => /^dec\.blk\.\d+\.cross_attn_rel_b\./u.test(tensor),
  sentence: ({ encoder, decoder }) =>
    `An encoder of ${encoder.layers} layers that reads a text, and a decoder of ${decoder.layers} layers that writes another.`,
  facts: ({ encoder, decoder }) => [...DENSE.facts(encoder), { label: "decoder layers", value: decoder.layers }],
  graph: ({ decoder, buckets }, weights, options) =>
    denseLayers(
      new SourceDecoder(decoder, relativeBias(DECODER.names.block, { buckets, sight: "causal" }), weights, options),
      decoder,
      decoderBlock(decoder),
    ),
  encoder: {
    start: ({ start }) => start,
    isOwn: (tensor) => /^enc\.|\.cross_attn_[kv]\./u.test(tensor),
    graph: ({ encoder, decoder, buckets }, weights, { largestText }) =>
      sourceGraph(
        {
          encoder,
          decoder,
          block: t5Block,
          rules: {
            sight: "both ways",
            bias: relativeBias(T5_ENCODER.names.block, { buckets, sight: "both ways" }),
            finalNorm: T5_ENCODER.norm,
          },
        },
        weights,
        largestText,
      ),
  },
  samples: [
    ...samplesOf("t5", style),
    {
      ...sampleOf("t5", "a table in each layer, as UMT5 has them", { ...style, always: /attn_rel_b/u, full: true }),
      beside: { "dec.blk.0.cross_attn_rel_b.weight": [32, 4] },
    },
    sampleOf("t5", "a shallower decoder, fewer buckets", {
      ...style,
      keys: { ...style.keys, decoder_block_count: 2, "attention.relative_buckets_count": 16 },
      full: true,
    }),
  ].map((sample, i) => ({ ...sample, source: [37, 64, 1, 150, 48, 22][i] ?? 1 })),
});
