/** Numbers that a model stores as tensors and a GGUF as keys: they are read while the folder opens. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { numbersEntry } from "../gguf/encode.ts";
import { quote } from "../gguf/header.ts";
import type { MetadataEntry } from "../gguf/values.ts";
import { F32, converted, elementsOf } from "../tensorBytes.ts";
import type { HfConfig } from "./keys.ts";
import { layersOf } from "./keys.ts";
import type { HfFamily } from "./parts.ts";
import type { StoredTensor } from "./weights.ts";
import { storedBytes, withoutPrefix } from "./weights.ts";

export async function numberLists(
  { numbers = {} }: HfFamily,
  config: HfConfig,
  stored: ReadonlyMap<string, StoredTensor>,
  signal?: AbortSignal,
): Promise<readonly MetadataEntry[]> {
  const byOwnName = new Map([...stored].map(([name, tensor]) => [withoutPrefix(name), tensor]));
  const lists: MetadataEntry[] = [];
  for (const [name, key] of Object.entries(numbers)) {
    const values: number[] = [];
    for (let layer = 0; layer < layersOf(config); layer++)
      values.push(await numberOf(config, byOwnName, name.replace("{i}", String(layer)), signal));
    lists.push(numbersEntry(key, "f32", values));
  }
  return lists;
}

async function numberOf(
  config: HfConfig,
  stored: ReadonlyMap<string, StoredTensor>,
  name: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  const found = stored.get(name);
  if (found === undefined)
    throw new WorkbenchError("INPUT_MISSING_TENSOR", `[${config.name}] the tensor ${quote(name)} is missing`, {
      hint: "A file of the folder is missing: download it again.",
      details: { tensor: name },
    });
  const bytes = storedBytes(found);
  const count = elementsOf(bytes.dims);
  if (count !== 1)
    throw new WorkbenchError(
      "INPUT_MALFORMED",
      `[${config.name}] the tensor ${quote(name)}: got ${count} numbers, expected 1`,
      { hint: "config.json and the weights belong to different models.", details: { tensor: name } },
    );
  const read = await converted(bytes, F32).read(0, Float32Array.BYTES_PER_ELEMENT, signal);
  return new DataView(read.buffer, read.byteOffset).getFloat32(0, true);
}
