/** A 20 GB sparse file: the header of a Qwen3 of 36 B parameters with 150 000 tokens, no data. */
import { truncateSync, writeFileSync } from "node:fs";
import { numberEntry, numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import { encodeHeader } from "../formats/gguf/write.ts";
import type { TensorShape } from "../formats/gguf/write.ts";
import { seededRandom } from "./random.ts";

const TOKENS = 150_000;

/** Byte tokens first, then products of earlier tokens, as training makes them. */
function vocabulary(): { readonly tokens: readonly string[]; readonly merges: readonly string[] } {
  const tokens: string[] = [];
  for (let point = 0x21; tokens.length < 256; point++)
    if (point < 0x7f || (point > 0xa0 && point !== 0xad)) tokens.push(String.fromCodePoint(point));
  const known = new Set(tokens);
  const merges: string[] = [];
  const random = seededRandom(9);
  while (tokens.length < TOKENS) {
    // Earlier tokens are likelier, so that most stay short.
    const pick = (): string => tokens[Math.floor(tokens.length * random.next() ** 4)] ?? "a";
    const [left, right] = [pick(), pick()];
    if (known.has(left + right)) continue;
    known.add(left + right);
    tokens.push(left + right);
    merges.push(`${left} ${right}`);
  }
  return { tokens, merges };
}

const [LAYERS, WIDTH, FEED_FORWARD, QUERIES, KEYS, HEAD] = [72, 5120, 17_408, 8192, 1024, 128];

/** Sizes as GGUF has them: what is contiguous first. */
function shape(name: string, type: string, ...dims: number[]): TensorShape {
  const known = ggmlTypeByName(type);
  if (known === undefined) throw new Error(`no type ${type}`);
  return { name: `${name}.weight`, type: known, dims };
}

const tensors: readonly TensorShape[] = [
  shape("token_embd", "q6_k", WIDTH, TOKENS),
  shape("output_norm", "f32", WIDTH),
  shape("output", "q6_k", WIDTH, TOKENS),
  ...Array.from({ length: LAYERS }, (_, i) => [
    shape(`blk.${i}.attn_norm`, "f32", WIDTH),
    shape(`blk.${i}.attn_q`, "q5_k", WIDTH, QUERIES),
    shape(`blk.${i}.attn_k`, "q5_k", WIDTH, KEYS),
    shape(`blk.${i}.attn_v`, "q6_k", WIDTH, KEYS),
    shape(`blk.${i}.attn_q_norm`, "f32", HEAD),
    shape(`blk.${i}.attn_k_norm`, "f32", HEAD),
    shape(`blk.${i}.attn_output`, "q5_k", QUERIES, WIDTH),
    shape(`blk.${i}.ffn_norm`, "f32", WIDTH),
    shape(`blk.${i}.ffn_gate`, "q5_k", WIDTH, FEED_FORWARD),
    shape(`blk.${i}.ffn_up`, "q5_k", WIDTH, FEED_FORWARD),
    shape(`blk.${i}.ffn_down`, "q6_k", FEED_FORWARD, WIDTH),
  ]).flat(),
];

function bigHeader(): { readonly bytes: Uint8Array; readonly total: number } {
  const { tokens, merges } = vocabulary();
  const key = (name: string, value: number) => numberEntry(`qwen3.${name}`, "u32", value);
  return encodeHeader({
    entries: [
      stringEntry("general.architecture", "qwen3"),
      stringEntry("general.name", "Sparse 36B"),
      key("block_count", LAYERS),
      key("context_length", 40_960),
      key("embedding_length", WIDTH),
      key("feed_forward_length", FEED_FORWARD),
      key("attention.head_count", QUERIES / HEAD),
      key("attention.head_count_kv", KEYS / HEAD),
      key("attention.key_length", HEAD),
      key("attention.value_length", HEAD),
      numberEntry("qwen3.rope.freq_base", "f32", 1_000_000),
      numberEntry("qwen3.attention.layer_norm_rms_epsilon", "f32", 1e-6),
      stringEntry("tokenizer.ggml.model", "gpt2"),
      stringEntry("tokenizer.ggml.pre", "qwen2"),
      stringsEntry("tokenizer.ggml.tokens", tokens),
      numbersEntry("tokenizer.ggml.token_type", "i32", new Int32Array(TOKENS).fill(1)),
      stringsEntry("tokenizer.ggml.merges", merges),
      numberEntry("tokenizer.ggml.eos_token_id", "u32", 5),
    ],
    tensors,
  });
}

/** A sparse file: it takes the space of its header only. */
export function writeBigFile(path: string): { readonly headerBytes: number; readonly total: number } {
  const { bytes, total } = bigHeader();
  writeFileSync(path, bytes);
  truncateSync(path, total);
  return { headerBytes: bytes.length, total };
}
