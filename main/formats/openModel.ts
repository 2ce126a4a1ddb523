/**
 * Opens a model's file, whatever its container: a GGUF of any version and byte order, or the files
 * of a Hugging Face folder, which are told by their first bytes.
 */
import type { ByteSource } from "./byteSource.ts";
import type { GgufFile } from "./gguf/file.ts";
import type { OpenOptions } from "./gguf/open.ts";
import { openGguf } from "./gguf/open.ts";
import { huggingFaceSource } from "./huggingface/folder.ts";

/** On failure everything that was opened, the given source included, is closed. */
export async function openModelFile(source: ByteSource, options: OpenOptions = {}): Promise<GgufFile> {
  let isOther: boolean;
  try {
    isOther = await isHuggingFace(source, options.signal);
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

/** JSON begins with a brace; safetensors with 8 bytes and a brace. */
async function isHuggingFace(source: ByteSource, signal: AbortSignal | undefined): Promise<boolean> {
  const start = await source.read(0, Math.min(64, source.byteLength), signal);
  const text = String.fromCharCode(...start);
  if (GGUF.includes(text.slice(0, 4))) return false;
  return start[8] === BRACE || text.trimStart().startsWith("{");
}
