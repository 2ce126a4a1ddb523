/** The header of a large model: Qwen3-like shapes for 20 GB of weights, 150 000 tokens and as many merges. No data. */
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

export function bigHeader(): { readonly bytes: Uint8Array; readonly total: number } {
  const { tokens, merges } = vocabulary();
  const q8 = ggmlTypeByName("q8_0");
  const f32 = ggmlTypeByName("f32");
  if (q8 === undefined || f32 === undefined) throw new Error("no such type");
  const layers = 48;
  const width = 5120;
  const shape = (name: string, ...dims: number[]): TensorShape => ({ name, type: dims.length > 1 ? q8 : f32, dims });
  const key = (name: string, value: number) => numberEntry(`qwen3.${name}`, "u32", value);
  const { bytes, total } = encodeHeader({
    entries: [
      stringEntry("general.architecture", "qwen3"),
      stringEntry("general.name", "A 20 GB file"),
      key("block_count", layers),
      key("context_length", 40_960),
      key("embedding_length", width),
      key("feed_forward_length", 23_040),
      key("attention.head_count", 40),
      key("attention.head_count_kv", 8),
      key("attention.key_length", 128),
      numberEntry("qwen3.rope.freq_base", "f32", 1_000_000),
      numberEntry("qwen3.attention.layer_norm_rms_epsilon", "f32", 1e-6),
      stringEntry("tokenizer.ggml.model", "gpt2"),
      stringEntry("tokenizer.ggml.pre", "qwen2"),
      stringsEntry("tokenizer.ggml.tokens", tokens),
      numbersEntry(
        "tokenizer.ggml.token_type",
        "i32",
        tokens.map(() => 1),
      ),
      stringsEntry("tokenizer.ggml.merges", merges),
      numberEntry("tokenizer.ggml.eos_token_id", "u32", 5),
    ],
    tensors: [
      shape("token_embd.weight", width, TOKENS),
      shape("output_norm.weight", width),
      shape("output.weight", width, TOKENS),
      ...Array.from({ length: layers }, (_, i) => [
        shape(`blk.${i}.attn_norm.weight`, width),
        shape(`blk.${i}.attn_q.weight`, width, 5120),
        shape(`blk.${i}.attn_k.weight`, width, 1024),
        shape(`blk.${i}.attn_v.weight`, width, 1024),
        shape(`blk.${i}.attn_q_norm.weight`, 128),
        shape(`blk.${i}.attn_k_norm.weight`, 128),
        shape(`blk.${i}.attn_output.weight`, 5120, width),
        shape(`blk.${i}.ffn_norm.weight`, width),
        shape(`blk.${i}.ffn_gate.weight`, width, 23_040),
        shape(`blk.${i}.ffn_up.weight`, width, 23_040),
        shape(`blk.${i}.ffn_down.weight`, 23_040, width),
      ]).flat(),
    ],
  });
  return { bytes, total };
}
