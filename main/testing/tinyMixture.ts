/**
 * A mixture whose choices are known: embeddings are unit vectors, attention and experts add nothing, and each router's rows are
 * unit vectors too, so a token goes to the expert whose row is its own. The routers' rows stand in order in layer 0, and
 * in reverse in layer 1. Its four tokens are the letters a to d, and after each the likeliest is itself.
 */
import { numberEntry, numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import type { TensorToWrite } from "../formats/gguf/write.ts";
import { writeGguf } from "../formats/gguf/write.ts";
import { openFileSink } from "../node/files/fileByteSource.ts";

const SIZE = 4;

function tensor(name: string, shape: readonly number[], value: (i: number) => number): TensorToWrite {
  const type = ggmlTypeByName("f32");
  if (type === undefined) throw new Error("f32 is a type");
  const data = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => value(i));
  return {
    name,
    type,
    dims: [...shape].reverse(),
    *data() {
      yield new Uint8Array(data.buffer);
    },
  };
}

const unit = (i: number): number => Number(i % SIZE === Math.floor(i / SIZE));
const reversed = (i: number): number => Number(i % SIZE === SIZE - 1 - Math.floor(i / SIZE));
const nothing = (): number => 0;
const one = (): number => 1;

const block = (i: number, router: (i: number) => number): readonly TensorToWrite[] => [
  ...["attn_norm", "ffn_norm"].map((name) => tensor(`blk.${i}.${name}.weight`, [SIZE], one)),
  ...["attn_q", "attn_k", "attn_v", "attn_output"].map((name) =>
    tensor(`blk.${i}.${name}.weight`, [SIZE, SIZE], nothing),
  ),
  ...["ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"].map((name) =>
    tensor(`blk.${i}.${name}.weight`, [SIZE, SIZE, SIZE], nothing),
  ),
  tensor(`blk.${i}.ffn_gate_inp.weight`, [SIZE, SIZE], router),
];

export async function writeTinyMixture(path: string): Promise<void> {
  const count = (key: string, value: number) => numberEntry(`llama.${key}`, "u32", value);
  await writeGguf(await openFileSink(path), {
    entries: [
      stringEntry("general.architecture", "llama"),
      numberEntry("llama.attention.layer_norm_rms_epsilon", "f32", 1e-6),
      count("block_count", 2),
      count("context_length", 16),
      count("embedding_length", SIZE),
      count("feed_forward_length", SIZE),
      count("attention.head_count", 2),
      count("attention.head_count_kv", 2),
      count("expert_count", SIZE),
      count("expert_used_count", 1),
      stringEntry("tokenizer.ggml.model", "gpt2"),
      stringEntry("tokenizer.ggml.pre", "qwen2"),
      stringsEntry("tokenizer.ggml.tokens", [..."abcd"]),
      numbersEntry("tokenizer.ggml.token_type", "i32", [1, 1, 1, 1]),
      stringsEntry("tokenizer.ggml.merges", []),
    ],
    tensors: [
      tensor("token_embd.weight", [SIZE, SIZE], unit),
      tensor("output_norm.weight", [SIZE], one),
      ...block(0, unit),
      ...block(1, reversed),
    ],
  });
}
