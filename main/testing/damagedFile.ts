/** A copy of a GGUF file with bytes of one tensor changed: for what finds damage. */
import { readFile, writeFile } from "node:fs/promises";
import { openGguf } from "../formats/gguf/open.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";

export async function writeDamaged(
  from: string,
  to: string,
  tensor: string,
  change: (bytes: Buffer) => void,
): Promise<void> {
  const file = await openGguf(await openFileSource(from));
  const { offset, byteLength } = file.requireTensor(tensor);
  await file.close();
  const bytes = await readFile(from);
  change(bytes.subarray(offset, offset + byteLength));
  await writeFile(to, bytes);
}
