/**
 * Where bytes come from: one small interface over files, dropped files, uploads and memory.
 * A read gives exactly the requested bytes or fails with a code; there are no short reads.
 */
import { throwIfCancelled, WorkbenchError } from "../diagnostics/errors.ts";

export interface ByteSource {
  /** For messages: a file name without its folder. */
  readonly name: string;
  readonly byteLength: number;
  /** Which file on this disk it reads (device, inode, size, time of the last write); absent for any other medium. */
  readonly identity?: string;
  /** Set where the bytes are not those of any file but are worked out from others when they are read. */
  readonly made?: Made;
  /** Exactly `length` bytes from `offset`; the caller owns the result. */
  readonly read: (offset: number, length: number, signal?: AbortSignal) => Promise<Uint8Array>;
  readonly close: () => Promise<void>;
}

/** A form that a GGUF is worked out from. No engine can map such bytes: they are written first (`rlx convert`). */
export interface MadeFrom {
  /** In a few words: "2 safetensors files". */
  readonly from: string;
  /** Of a folder that no family reads: why. Its tensors stand under their own names, to be looked at and nothing else. */
  readonly unread?: string;
}

export interface Made extends MadeFrom {
  /** What is behind is worked out when it is read, so a reader of the header stops here. */
  readonly headerBytes: number;
}

/** Finds the file next to this one that has the given name; undefined when there is none. */
export type SiblingOpener = (name: string) => Promise<ByteSource | undefined>;

/** Every source checks a request with this before it reads. */
export function checkRange(
  source: { readonly name: string; readonly byteLength: number },
  offset: number,
  length: number,
) {
  const sane = Number.isSafeInteger(offset) && Number.isSafeInteger(length) && offset >= 0 && length >= 0;
  if (sane && offset + length <= source.byteLength) return;
  throw new WorkbenchError(
    "INPUT_TRUNCATED",
    `[${source.name}] read past the end: got bytes ${offset} to ${offset + length}, expected at most ${source.byteLength}`,
    { hint: "The file is shorter than it says; download or copy it again." },
  );
}

/** Bytes that are already in memory. Reads are copies, as they are for files. */
export function memorySource(name: string, bytes: Uint8Array): ByteSource {
  const self = {
    name,
    byteLength: bytes.byteLength,
    async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
      throwIfCancelled(signal);
      checkRange(self, offset, length);
      return bytes.slice(offset, offset + length);
    },
    async close(): Promise<void> {},
  };
  return self;
}

/** Counts what goes through it: tests use it to prove that a file is read lazily. */
export interface ReadMeter extends ByteSource {
  readonly bytesRead: () => number;
  readonly reads: () => number;
  /** End of the furthest byte that was read. */
  readonly furthest: () => number;
}

export function meteredSource(source: ByteSource): ReadMeter {
  let bytes = 0;
  let count = 0;
  let end = 0;
  return {
    name: source.name,
    byteLength: source.byteLength,
    async read(offset, length, signal) {
      bytes += length;
      count += 1;
      end = Math.max(end, offset + length);
      return source.read(offset, length, signal);
    },
    close: source.close,
    bytesRead: () => bytes,
    reads: () => count,
    furthest: () => end,
  };
}
