/**
 * Models that are only a header: real tensor names, shapes and types, no data and no vocabulary.
 * Everything but running works on them. They go through the same reader as any file.
 */
import type { GgufFile } from "../formats/gguf/file.ts";
import { numberEntry, stringEntry } from "../formats/gguf/encode.ts";
import type { GgmlType } from "../formats/gguf/types.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import type { GgufContents, TensorShape } from "../formats/gguf/write.ts";
import { makeHeaderOnly } from "../formats/gguf/write.ts";
import { invariant } from "../diagnostics/errors.ts";
import type { DenseHyper } from "./dense.ts";

type Sizes = Pick<
  DenseHyper,
  "layers" | "width" | "feedForward" | "heads" | "kvHeads" | "headDim" | "vocabulary" | "context"
>;

export interface HeaderOnlyShape extends Sizes {
  readonly title: string;
  readonly ropeBase: number;
}

/** The shapes of Llama-3.2-1B. */
export const LLAMA_1B: HeaderOnlyShape = {
  title: "Header only, 1B class",
  layers: 16,
  width: 2048,
  feedForward: 8192,
  heads: 32,
  kvHeads: 8,
  headDim: 64,
  vocabulary: 128256,
  context: 131072,
  ropeBase: 500000,
};

/** Narrow and very deep: a graph of more than 10 000 ops. */
export const DEEP: HeaderOnlyShape = {
  title: "Header only, 400 blocks",
  layers: 400,
  width: 512,
  feedForward: 1536,
  heads: 8,
  kvHeads: 4,
  headDim: 64,
  vocabulary: 32000,
  context: 8192,
  ropeBase: 10000,
};

const type = (name: string): GgmlType => {
  const found = ggmlTypeByName(name);
  invariant(found, `no ggml type ${name}`);
  return found;
};

/** Which layers of a Q4_K_M file keep v and down in six bits: the first and last eighth, and every third between. */
function moreBits(layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= Math.floor((7 * layers) / 8) || (layer - eighth) % 3 === 2;
}

function blockTensors(shape: HeaderOnlyShape, layer: number): readonly TensorShape[] {
  const { width, feedForward, heads, kvHeads, headDim } = shape;
  const better = moreBits(layer, shape.layers) ? "q6_k" : "q4_k";
  const of = (name: string, kind: string, ...dims: readonly number[]): TensorShape => ({
    name: `blk.${layer}.${name}.weight`,
    type: type(kind),
    dims,
  });
  return [
    of("attn_norm", "f32", width),
    of("attn_q", "q4_k", width, heads * headDim),
    of("attn_k", "q4_k", width, kvHeads * headDim),
    of("attn_v", better, width, kvHeads * headDim),
    of("attn_output", "q4_k", heads * headDim, width),
    of("ffn_norm", "f32", width),
    of("ffn_gate", "q4_k", width, feedForward),
    of("ffn_up", "q4_k", width, feedForward),
    of("ffn_down", better, feedForward, width),
  ];
}

/** Keys and tensors of a Llama of this shape, quantised as Q4_K_M, with a tied embedding. */
export function headerOf(shape: HeaderOnlyShape): GgufContents<TensorShape> {
  const count = (key: string, value: number): MetadataEntry => numberEntry(`llama.${key}`, "u32", value);
  const tensors: TensorShape[] = [
    { name: "token_embd.weight", type: type("q6_k"), dims: [shape.width, shape.vocabulary] },
    { name: "output_norm.weight", type: type("f32"), dims: [shape.width] },
    { name: "rope_freqs.weight", type: type("f32"), dims: [shape.headDim / 2] },
  ];
  for (let layer = 0; layer < shape.layers; layer++) tensors.push(...blockTensors(shape, layer));
  return {
    entries: [
      stringEntry("general.architecture", "llama"),
      stringEntry("general.name", shape.title),
      numberEntry("general.file_type", "u32", 15),
      count("block_count", shape.layers),
      count("context_length", shape.context),
      count("embedding_length", shape.width),
      count("feed_forward_length", shape.feedForward),
      count("attention.head_count", shape.heads),
      count("attention.head_count_kv", shape.kvHeads),
      count("attention.key_length", shape.headDim),
      count("attention.value_length", shape.headDim),
      count("rope.dimension_count", shape.headDim),
      numberEntry("llama.rope.freq_base", "f32", shape.ropeBase),
      numberEntry("llama.attention.layer_norm_rms_epsilon", "f32", 1e-5),
      count("vocab_size", shape.vocabulary),
    ],
    tensors,
  };
}

export const headerOnlyModel = (shape: HeaderOnlyShape): Promise<GgufFile> =>
  makeHeaderOnly(`${shape.title}.gguf`, headerOf(shape));
