// A sparse file of a narrow model with any number of blocks: its header, and no data.
import { truncateSync, writeFileSync } from "node:fs";
import { encodeHeader } from "../../main/formats/gguf/write.ts";
import { DEEP, headerOf } from "../../main/models/headerOnly.ts";

/** Of the legal graph for Core ML, leaves left out; the embedding and the head are a few more. */
export const OPS_PER_BLOCK = 50;

export function writeDeepFile(path: string, layers: number): void {
  const { bytes, total } = encodeHeader(headerOf({ ...DEEP, title: `Deep, ${layers} blocks`, layers }));
  writeFileSync(path, bytes);
  truncateSync(path, total);
}
