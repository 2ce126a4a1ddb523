/** A Hugging Face folder without Python: a byte tokenizer, and random weights in one safetensors file or several. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tensor } from "../ir/type.ts";
import { tinyParam } from "./tinyModels.ts";
import type { ToyFolder } from "./toyFolders.ts";
import { BYTE_LEVEL, TOY_FOLDERS, toyTokenizer } from "./toyFolders.ts";

type Tensors = ToyFolder["tensors"];

/** A safetensors file in f32: the length of its header, the header, the numbers. */
function safetensors(tensors: Tensors): Uint8Array {
  const parts = tensors.map(([name, sizes]) => Float32Array.from(tinyParam(name, tensor("f32", sizes)).data));
  let at = 0;
  const header = Object.fromEntries(
    tensors.map(([name, shape], i) => {
      const begin = at;
      at += parts[i]?.byteLength ?? 0;
      return [name, { dtype: "F32", shape, data_offsets: [begin, at] }];
    }),
  );
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...parts.map((part) => Buffer.from(part.buffer))]);
}

export interface PlainFolder {
  /** Files that the weights are cut into. */
  readonly shards?: number;
}

/** The first toy folder: a llama of two layers. */
export async function writePlainFolder(path: string, { shards = 1 }: PlainFolder = {}): Promise<void> {
  const [toy] = TOY_FOLDERS;
  if (toy === undefined) throw new Error("there is a toy folder");
  await mkdir(path, { recursive: true });
  const json = (name: string, value: unknown): Promise<void> => writeFile(join(path, name), JSON.stringify(value));
  await json("config.json", toy.config);
  for (const [name, value] of Object.entries(toyTokenizer(BYTE_LEVEL))) await json(name, value);
  if (shards === 1) return writeFile(join(path, "model.safetensors"), safetensors(toy.tensors));
  const map: Record<string, string> = {};
  for (let i = 0; i < shards; i++) {
    const own = toy.tensors.filter((_, at) => at % shards === i);
    const name = `model-0000${i + 1}-of-0000${shards}.safetensors`;
    for (const [tensorName] of own) map[tensorName] = name;
    await writeFile(join(path, name), safetensors(own));
  }
  return json("model.safetensors.index.json", { metadata: {}, weight_map: map });
}
