/** A small whole encoder as GGUF: two BERT blocks in f32 and a WordPiece vocabulary; with a head of scores where asked for. */
import { writeFile } from "node:fs/promises";
import { memorySink } from "../formats/byteSink.ts";
import { boolEntry, numberEntry, numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import type { TensorToWrite } from "../formats/gguf/write.ts";
import { writeGguf } from "../formats/gguf/write.ts";
import { randomFloats, seededRandom } from "./random.ts";

const WIDTH = 32;
const FEED_FORWARD = 64;
const CONTEXT = 64;
const LAYERS = 2;

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz0123456789.,?!"];
const WORDS = [
  "a",
  "the",
  "cat",
  "dog",
  "car",
  "bear",
  "china",
  "panda",
  "small",
  "what",
  "is",
  "from",
  "sits",
  "runs",
];
/** A word's beginning is marked in the file; what goes on inside of a word is not. */
const TOKENS = [
  "[PAD]",
  "[UNK]",
  "[CLS]",
  "[SEP]",
  "[MASK]",
  ...new Set([...WORDS, ...LETTERS].map((w) => `\u2581${w}`)),
  ...LETTERS,
];

export interface TinyEmbedder {
  /** The file has a head that scores, and names it as its pooling. */
  readonly ranks?: boolean;
}

export async function writeTinyEmbedder(path: string, { ranks = false }: TinyEmbedder = {}): Promise<void> {
  const f32 = ggmlTypeByName("f32");
  if (f32 === undefined) throw new Error("no f32");
  const key = (name: string, value: number): MetadataEntry => numberEntry(`bert.${name}`, "u32", value);
  const id = (name: string, token: string): MetadataEntry =>
    numberEntry(`tokenizer.ggml.${name}_token_id`, "u32", TOKENS.indexOf(token));
  const random = seededRandom(7);
  const tensor = (name: string, ...dims: readonly number[]): TensorToWrite => {
    const count = dims.reduce((product, dim) => product * dim, 1);
    const values = randomFloats(random, count, name.endsWith("embd.weight") ? 1 : 1 / Math.sqrt(dims[0] ?? 1));
    if (name.includes("norm") && name.endsWith("weight")) values.fill(1);
    return { name, type: f32, dims, data: () => [new Uint8Array(values.buffer)] };
  };
  const both = (name: string, ...dims: readonly number[]): readonly TensorToWrite[] => [
    tensor(`${name}.weight`, ...dims),
    tensor(`${name}.bias`, dims.at(-1) ?? 0),
  ];
  const block = (i: number): readonly TensorToWrite[] => [
    ...["attn_q", "attn_k", "attn_v", "attn_output"].flatMap((name) => both(`blk.${i}.${name}`, WIDTH, WIDTH)),
    ...both(`blk.${i}.attn_output_norm`, WIDTH),
    ...both(`blk.${i}.ffn_up`, WIDTH, FEED_FORWARD),
    ...both(`blk.${i}.ffn_down`, FEED_FORWARD, WIDTH),
    ...both(`blk.${i}.layer_output_norm`, WIDTH),
  ];
  const sink = memorySink();
  await writeGguf(sink, {
    entries: [
      stringEntry("general.architecture", "bert"),
      stringEntry("general.name", ranks ? "tiny reranker" : "tiny embedder"),
      key("block_count", LAYERS),
      key("context_length", CONTEXT),
      key("embedding_length", WIDTH),
      key("feed_forward_length", FEED_FORWARD),
      key("attention.head_count", 4),
      key("pooling_type", ranks ? 4 : 1),
      boolEntry("bert.attention.causal", false),
      numberEntry("bert.attention.layer_norm_epsilon", "f32", 1e-12),
      stringEntry("tokenizer.ggml.model", "bert"),
      stringEntry("tokenizer.ggml.pre", "jina-v2-en"),
      numberEntry("tokenizer.ggml.token_type_count", "u32", 2),
      stringsEntry("tokenizer.ggml.tokens", TOKENS),
      numbersEntry(
        "tokenizer.ggml.token_type",
        "i32",
        TOKENS.map((_, i) => (i < 5 ? 3 : 1)),
      ),
      id("padding", "[PAD]"),
      id("unknown", "[UNK]"),
      id("bos", "[CLS]"),
      id("seperator", "[SEP]"),
    ],
    tensors: [
      tensor("token_embd.weight", WIDTH, TOKENS.length),
      tensor("token_types.weight", WIDTH, 2),
      tensor("position_embd.weight", WIDTH, CONTEXT),
      ...both("token_embd_norm", WIDTH),
      ...Array.from({ length: LAYERS }, (_, i) => block(i)).flat(),
      ...(ranks ? [...both("cls", WIDTH, WIDTH), ...both("cls.output", WIDTH, 1)] : []),
    ],
  });
  await writeFile(path, sink.bytes());
}
