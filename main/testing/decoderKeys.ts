/** Decoders as their families read them of a file's keys alone: an embedding of 20 tokens, 32 wide, is all that there is. */
import { numberEntry, numbersEntry, stringEntry } from "../formats/gguf/encode.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import { makeHeaderOnly } from "../formats/gguf/write.ts";
import type { DecoderArchitecture, Family } from "../models/family.ts";

/** Without the architecture's name in front. */
export type Keys = Readonly<Record<string, number | readonly number[]>>;

export const headerOfKeys = (name: string, keys: Keys): Promise<GgufFile> =>
  makeHeaderOnly("made.gguf", {
    entries: [
      stringEntry("general.architecture", name),
      ...Object.entries(keys).map(([key, value]) =>
        typeof value === "number"
          ? numberEntry(`${name}.${key}`, key.endsWith("epsilon") ? "f32" : "u32", value)
          : numbersEntry(`${name}.${key}`, "u32", [...value]),
      ),
    ],
    tensors: [{ name: "token_embd.weight", type: ggmlTypeByName("f32")!, dims: [32, 20] }],
  });

export async function decoderOfKeys(family: Family, name: string, keys: Keys): Promise<DecoderArchitecture> {
  const model = family.read(await headerOfKeys(name, keys), name);
  if (model.kind !== "decoder") throw new Error(`${name} is a decoder`);
  return model;
}
