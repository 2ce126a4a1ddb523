// A sparse GGUF of 20 GB: the header of a dense Qwen3 of 36 B parameters with a vocabulary of 150 000 tokens, and a hole where
// its weights would be.
import { truncateSync, writeFileSync } from "node:fs";
import { numberEntry, numbersEntry, stringEntry, stringsEntry } from "../../main/formats/gguf/encode.ts";
import { ggmlTypeByName } from "../../main/formats/gguf/types.ts";
import { encodeHeader } from "../../main/formats/gguf/write.ts";

const TOKENS = 150_000;
const [LAYERS, WIDTH, FF] = [72, 5120, 17_408];

function header(): { bytes: Uint8Array; total: number } {
  const type = (name: string) => {
    const found = ggmlTypeByName(name);
    if (!found) throw new Error(`no type ${name}`);
    return found;
  };
  const tokens = Array.from({ length: TOKENS }, (_, i) => `tok${i.toString(36)}`);
  const of = (name: string, kind: string, ...dims: number[]) => ({ name, type: type(kind), dims });
  const tensors = [
    of("token_embd.weight", "q6_k", WIDTH, TOKENS),
    of("output.weight", "q6_k", WIDTH, TOKENS),
    of("output_norm.weight", "f32", WIDTH),
  ];
  for (let i = 0; i < LAYERS; i++) {
    const block = (name: string, kind: string, ...dims: number[]) => of(`blk.${i}.${name}.weight`, kind, ...dims);
    tensors.push(
      block("attn_norm", "f32", WIDTH),
      block("attn_q", "q5_k", WIDTH, 8192),
      block("attn_k", "q5_k", WIDTH, 1024),
    );
    tensors.push(
      block("attn_v", "q6_k", WIDTH, 1024),
      block("attn_output", "q5_k", 8192, WIDTH),
      block("attn_q_norm", "f32", 128),
    );
    tensors.push(
      block("attn_k_norm", "f32", 128),
      block("ffn_norm", "f32", WIDTH),
      block("ffn_gate", "q5_k", WIDTH, FF),
    );
    tensors.push(block("ffn_up", "q5_k", WIDTH, FF), block("ffn_down", "q6_k", FF, WIDTH));
  }
  const count = (key: string, value: number) => numberEntry(`qwen3.${key}`, "u32", value);
  return encodeHeader({
    entries: [
      stringEntry("general.architecture", "qwen3"),
      stringEntry("general.name", "Sparse 36B"),
      count("block_count", LAYERS),
      count("context_length", 40_960),
      count("embedding_length", WIDTH),
      count("feed_forward_length", FF),
      count("attention.head_count", 64),
      count("attention.head_count_kv", 8),
      count("attention.key_length", 128),
      count("attention.value_length", 128),
      numberEntry("qwen3.rope.freq_base", "f32", 1e6),
      numberEntry("qwen3.attention.layer_norm_rms_epsilon", "f32", 1e-6),
      stringEntry("tokenizer.ggml.model", "gpt2"),
      stringEntry("tokenizer.ggml.pre", "qwen2"),
      stringsEntry("tokenizer.ggml.tokens", tokens),
      numbersEntry("tokenizer.ggml.token_type", "i32", new Int32Array(TOKENS).fill(1)),
      stringsEntry(
        "tokenizer.ggml.merges",
        Array.from({ length: TOKENS }, (_, i) => `t${i} u${i}`),
      ),
    ],
    tensors,
  });
}

export function writeSparseFile(path: string): void {
  const { bytes, total } = header();
  writeFileSync(path, bytes);
  truncateSync(path, total);
}
