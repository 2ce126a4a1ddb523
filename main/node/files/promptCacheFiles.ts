/**
 * Prompt caches as files (main/runtime/promptCache.ts says what is in them):
 *
 *   8 bytes   "RLXCACHE"
 *   u32       version of this form, 1; little-endian, as everything
 *   u32       bytes of the head
 *   32 bytes  SHA-256 over all that follows
 *   head      JSON, UTF-8
 *   payload   tokens and states
 */
import { createHash } from "node:crypto";
import { open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { PromptCacheFiles } from "../../runtime/promptCache.ts";
import { damaged } from "../../runtime/promptCache.ts";
import { openFileSink, openFileSource } from "./fileByteSource.ts";

const MAGIC = Buffer.from("RLXCACHE", "latin1");
const FORM = 1;
const CHECKSUM_AT = MAGIC.length + 8;
const HEAD_AT = CHECKSUM_AT + 32;
const LARGEST_HEAD = 1 << 16;
/** Between two of these other work runs, and a cancel takes effect. */
const STEP = 8 << 20;

function* slices(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const part of parts) for (let at = 0; at < part.length; at += STEP) yield part.subarray(at, at + STEP);
}

export const promptCacheFiles: PromptCacheFiles = {
  async write(path, head, payload, { overwrite, signal }) {
    const full = resolve(path);
    await checkPlace(full, overwrite);
    const parts = [Buffer.from(head), ...payload];
    const hash = createHash("sha256");
    for (const slice of slices(parts)) {
      throwIfCancelled(signal);
      hash.update(slice);
      await new Promise<void>((go) => setImmediate(go));
    }
    const front = Buffer.alloc(HEAD_AT);
    MAGIC.copy(front);
    front.writeUInt32LE(FORM, MAGIC.length);
    front.writeUInt32LE(Buffer.byteLength(head), MAGIC.length + 4);
    hash.digest().copy(front, CHECKSUM_AT);
    const sink = await openFileSink(full);
    try {
      await sink.write(front);
      for (const slice of slices(parts)) {
        throwIfCancelled(signal);
        await sink.write(slice);
      }
      await sink.finish();
    } finally {
      await sink.abandon();
    }
    return { path: full, bytes: parts.reduce((sum, { byteLength }) => sum + byteLength, HEAD_AT) };
  },

  async read(path, check, signal) {
    const full = resolve(path);
    const source = await openFileSource(full);
    try {
      if (source.byteLength < HEAD_AT) throw notOne(source.name);
      const front = Buffer.from(await source.read(0, HEAD_AT, signal));
      if (!front.subarray(0, MAGIC.length).equals(MAGIC)) throw notOne(source.name);
      const form = front.readUInt32LE(MAGIC.length);
      if (form !== FORM)
        throw new WorkbenchError("INPUT_CHANGED", `[${source.name}] form of the file: got ${form}, expected ${FORM}`, {
          hint: "Another version of the workbench wrote it: read the prompt again and save it anew.",
        });
      const headBytes = front.readUInt32LE(MAGIC.length + 4);
      if (headBytes > LARGEST_HEAD || HEAD_AT + headBytes > source.byteLength)
        throw damaged(`its head has ${headBytes} bytes`);
      const head = await source.read(HEAD_AT, headBytes, signal);
      const payloadAt = HEAD_AT + headBytes;
      const payloadBytes = source.byteLength - payloadAt;
      check(new TextDecoder().decode(head), payloadBytes);
      const hash = createHash("sha256").update(head);
      const payload = new Uint8Array(payloadBytes);
      for (let at = 0; at < payloadBytes; at += STEP) {
        const slice = await source.read(payloadAt + at, Math.min(STEP, payloadBytes - at), signal);
        hash.update(slice);
        payload.set(slice, at);
      }
      if (!hash.digest().equals(front.subarray(CHECKSUM_AT, HEAD_AT))) throw damaged("its checksum is another");
      return { path: full, payload };
    } finally {
      await source.close();
    }
  },
};

/** A file that is no prompt cache is never written over. */
async function checkPlace(full: string, overwrite: boolean): Promise<void> {
  const folder = await stat(dirname(full)).catch(() => undefined);
  if (folder?.isDirectory() !== true)
    throw new WorkbenchError("INPUT_ARGUMENT", `[prompt cache] the folder ${dirname(full)} does not exist`, {
      hint: "Create it first, or choose another.",
    });
  const there = await stat(full).catch(() => undefined);
  if (there === undefined) return;
  if (!there.isFile() || !(await isCache(full)))
    throw new WorkbenchError("INPUT_ARGUMENT", `[prompt cache] ${full} is there and is no prompt cache`, {
      hint: "Choose another name: only a prompt cache is written over.",
    });
  if (!overwrite)
    throw new WorkbenchError("INPUT_ARGUMENT", `[prompt cache] ${full} exists already`, {
      hint: "Choose another name, or overwrite it.",
      details: { exists: true },
    });
}

async function isCache(path: string): Promise<boolean> {
  const handle = await open(path, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0);
    return bytesRead === MAGIC.length && buffer.equals(MAGIC);
  } finally {
    await handle.close();
  }
}

const notOne = (name: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[${name}] got another kind of file, expected a prompt cache`, {
    hint: "Give a file that was saved as a prompt cache.",
  });
