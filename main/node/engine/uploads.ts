/**
 * Dropped files without a path: their header is fed in ranges until it parses; to run or export, the whole file is sent in
 * pieces to a temporary file. That goes when the upload is cancelled, with the last model (or failed attempt at one) that it was
 * for, or with the engine; after one that was killed, with the start of the next (`leftovers.ts`).
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, open, rm, statfs } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { uploadPrefix } from "../leftovers.ts";

/** Bytes of one piece: the window asks for the next when this one is written. */
export const CHUNK_BYTES = 4 << 20;

interface Open {
  readonly name: string;
  readonly size: number;
  readonly folder: string;
  readonly path: string;
  readonly handle: FileHandle;
  received: number;
  finished: boolean;
}

export interface Uploads {
  begin(name: string, size: number): Promise<{ readonly upload: string; readonly chunkBytes: number }>;
  chunk(upload: string, offset: number, bytes: Uint8Array): Promise<number>;
  finish(upload: string): Promise<void>;
  cancel(upload: string): Promise<void>;
  /** The finished file. */
  pathOf(upload: string): { readonly path: string; readonly name: string };
  dispose(): Promise<void>;
}

export function createUploads(): Uploads {
  const open_ = new Map<string, Open>();
  const find = (id: string): Open => {
    const found = open_.get(id);
    if (!found)
      throw new WorkbenchError("HANDLE_UNKNOWN", `[upload] there is no upload ${JSON.stringify(id)}`, {
        hint: "Drop the file again.",
      });
    return found;
  };
  const drop = async (id: string): Promise<void> => {
    const entry = open_.get(id);
    if (!entry) return;
    open_.delete(id);
    if (!entry.finished) await entry.handle.close();
    await rm(entry.folder, { recursive: true, force: true });
  };
  return {
    async begin(name, size) {
      const folder = await mkdtemp(join(tmpdir(), uploadPrefix()));
      const { bavail, bsize } = await statfs(folder);
      if (bavail * bsize < size * 1.02) {
        await rm(folder, { recursive: true, force: true });
        throw new WorkbenchError(
          "ENV_IO",
          `[upload] ${name} needs ${size} bytes, the temporary folder has ${bavail * bsize}`,
          {
            hint: "Copy the file to this machine and open it by its path.",
          },
        );
      }
      const path = join(folder, basename(name) || "upload.gguf");
      const upload = randomBytes(12).toString("hex");
      const handle = await open(path, "w").catch(async (error: unknown) => {
        await rm(folder, { recursive: true, force: true });
        throw error;
      });
      open_.set(upload, { name, size, folder, path, handle, received: 0, finished: false });
      return { upload, chunkBytes: CHUNK_BYTES };
    },
    async chunk(id, offset, bytes) {
      const entry = find(id);
      if (entry.finished || offset !== entry.received || offset + bytes.byteLength > entry.size)
        throw new WorkbenchError(
          "INPUT_ARGUMENT",
          `[upload] piece at ${offset} of ${bytes.byteLength} bytes: expected one at ${entry.received} within ${entry.size}`,
        );
      await entry.handle.write(bytes, 0, bytes.byteLength, offset);
      entry.received += bytes.byteLength;
      return entry.received;
    },
    async finish(id) {
      const entry = find(id);
      if (entry.received !== entry.size)
        throw new WorkbenchError(
          "INPUT_TRUNCATED",
          `[upload] ${entry.name}: got ${entry.received} bytes, expected ${entry.size}`,
          { hint: "Drop the file again." },
        );
      if (entry.finished) return;
      entry.finished = true;
      await entry.handle.close();
    },
    cancel: drop,
    pathOf(id) {
      const entry = find(id);
      if (!entry.finished) throw new WorkbenchError("HANDLE_BUSY", `[upload] ${entry.name} has not arrived whole yet`);
      return { path: entry.path, name: entry.name };
    },
    async dispose() {
      for (const id of [...open_.keys()]) await drop(id);
    },
  };
}
