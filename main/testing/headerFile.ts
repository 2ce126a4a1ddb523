/** A small file that is only a header, of any architecture, with keys replaced and tensors added or replaced. */
import { numberEntry, stringEntry, withEntries } from "../formats/gguf/encode.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import type { TensorShape } from "../formats/gguf/write.ts";
import { makeHeaderOnly } from "../formats/gguf/write.ts";

export const u32 = (key: string, value: number): MetadataEntry => numberEntry(key, "u32", value);
export const shape = (name: string, type: string, dims: number[]): TensorShape => ({
  name,
  type: ggmlTypeByName(type)!,
  dims,
});

const base = (name: string): MetadataEntry[] => [
  stringEntry("general.architecture", name),
  stringEntry("general.name", "A test"),
  u32("general.file_type", 15),
  u32(`${name}.block_count`, 2),
  u32(`${name}.context_length`, 4096),
  u32(`${name}.embedding_length`, 256),
  u32(`${name}.feed_forward_length`, 512),
  u32(`${name}.attention.head_count`, 4),
  u32(`${name}.attention.head_count_kv`, 2),
  numberEntry(`${name}.attention.layer_norm_rms_epsilon`, "f32", 1e-6),
];
const tensors = [
  shape("token_embd.weight", "q6_k", [256, 1000]),
  shape("blk.0.attn_q.weight", "q4_k", [256, 256]),
  shape("blk.0.attn_q.bias", "f32", [256]),
];

export const headerFile = (
  name: string,
  changes: Readonly<Record<string, MetadataEntry | undefined>> = {},
  more: readonly TensorShape[] = [],
): Promise<GgufFile> =>
  makeHeaderOnly("t.gguf", {
    entries: withEntries(base(name), changes),
    tensors: [...tensors.filter((own) => !more.some((other) => other.name === own.name)), ...more],
  });
