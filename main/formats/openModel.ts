/**
 * Opens a model's file, whatever its container: a GGUF of any version and byte order, or the files
 * of a Hugging Face folder, which are told by their first bytes. Any other file is answered with
 * what it is (foreign.ts).
 */
import type { ByteSource } from "./byteSource.ts";
import type { GgufFile } from "./gguf/file.ts";
import type { OpenOptions } from "./gguf/open.ts";
import { openGguf } from "./gguf/open.ts";
import { foreignError, foreignFile, SNIFFED_BYTES } from "./foreign.ts";
import { huggingFaceSource } from "./huggingface/folder.ts";

/** On failure everything that was opened, the given source included, is closed. */
export async function openModelFile(source: ByteSource, options: OpenOptions = {}): Promise<GgufFile> {
  let isOther: boolean;
  try {
    const start = await source.read(0, Math.min(SNIFFED_BYTES, source.byteLength), options.signal);
    const isTensors = isSafetensors(start);
    isOther = isTensors || beginsAsJson(start);
    const foreign = isGguf(start) || isTensors ? undefined : foreignFile(source.name, start);
    if (foreign !== undefined) throw foreignError(source.name, foreign);
  } catch (error) {
    await source.close();
    throw error;
  }
  if (!isOther) return openGguf(source, options);
  const { openSibling = async () => undefined, signal } = options;
  return openGguf(await huggingFaceSource(source, { openSibling, signal }), options);
}

const BRACE = 0x7b;
const GGUF = ["GGUF", "FUGG"];
const asText = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

const isGguf = (start: Uint8Array): boolean => GGUF.includes(asText(start.subarray(0, 4)));

/** 8 bytes, of which the last are 0, and a brace. */
const isSafetensors = (start: Uint8Array): boolean =>
  !isGguf(start) && start[8] === BRACE && start[6] === 0 && start[7] === 0;

const beginsAsJson = (start: Uint8Array): boolean => asText(start.subarray(0, 64)).trimStart().startsWith("{");
