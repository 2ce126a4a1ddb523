/**
 * Dropped files without a path. The header arrives in ranges until it parses. To run or export, the
 * whole file arrives in pieces, in a temporary file. It is removed when the upload is cancelled or
 * abandoned, with the last model that uses it, or with the engine; after a killed engine, at the
 * start of the next (`abandonedFiles.ts`).
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, open, rm, statfs } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Uploads } from "../../engine/services.ts";
import { uploadPrefix } from "./abandonedFiles.ts";
import { writeFully } from "./writeFully.ts";

/** Bytes of one piece. The window sends the next when this one is written. */
export const CHUNK_BYTES = 4 << 20;
/** Most uploads at a time. */
const MOST = 8;
/** An upload without a piece for so long is abandoned: its window was closed or reloaded. */
const LEFT_MS = 60_000;

interface Open {
  readonly name: string;
  readonly size: number;
  readonly folder: string;
  readonly path: string;
  readonly handle: FileHandle;
  /** Bytes on disk. */
  received: number;
  /** A piece is being written. */
  writing: boolean;
  /** Time of the latest piece. */
  latest: number;
  finished: boolean;
}

/** Longest file name of common file systems, in bytes. */
const LONGEST_NAME = 255;

/** Checks the name of a dropped file, which is untrusted: one plain file name. */
export function uploadName(given: string): string {
  const refused = (why: string): WorkbenchError =>
    new WorkbenchError("INPUT_ARGUMENT", `[upload] file name: ${why}`, { hint: "Rename the file and drop it again." });
  const name = given.split(/[\\/]/).at(-1) ?? "";
  if (name === "" || name === "." || name === "..") throw refused(`got ${JSON.stringify(given)}, expected a name`);
  // Control characters and marks of direction could deceive in a terminal or a list.
  if (/[\p{Cc}\p{Cf}]/u.test(name)) throw refused("it has control characters");
  const bytes = Buffer.byteLength(name);
  if (bytes > LONGEST_NAME) throw refused(`got ${bytes} bytes, expected at most ${LONGEST_NAME}`);
  return name;
}

/** Makes the file in its own folder. The disk must hold it beside all other uploads. */
async function makePlace(
  name: string,
  size: number,
  taken: () => number,
): Promise<Pick<Open, "folder" | "path" | "handle">> {
  const folder = await mkdtemp(join(tmpdir(), uploadPrefix()));
  try {
    const { bavail, bsize } = await statfs(folder);
    const free = Math.max(0, bavail * bsize - taken());
    if (free < size * 1.02)
      throw new WorkbenchError("ENV_IO", `[upload] ${name} needs ${size} bytes, the temporary folder has ${free}`, {
        hint: "Copy the file to this machine and open it by its path.",
      });
    const path = join(folder, name);
    return { folder, path, handle: await open(path, "w") };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

export function createUploads(now: () => number = () => performance.now()): Uploads {
  const open_ = new Map<string, Open>();
  const find = (id: string): Open => {
    const found = open_.get(id);
    if (!found)
      throw new WorkbenchError("HANDLE_UNKNOWN", `[upload] there is no upload ${JSON.stringify(id)}`, {
        hint: "Drop the file again.",
      });
    return found;
  };
  /** Sizes of uploads that are being created. */
  const beginning = new Set<{ readonly size: number }>();
  const arriving = (): readonly Open[] => [...open_.values()].filter(({ finished }) => !finished);
  /** Bytes that all uploads still lack. */
  const promised = (): number =>
    [...beginning].reduce((sum, { size }) => sum + size, 0) +
    arriving().reduce((sum, { size, received }) => sum + size - received, 0);
  /** Removals under way. The engine's end waits for them. */
  const removing = new Set<Promise<void>>();
  const remove = async (entry: Open): Promise<void> => {
    if (!entry.finished) await entry.handle.close();
    await rm(entry.folder, { recursive: true, force: true });
  };
  const drop = async (id: string): Promise<void> => {
    const entry = open_.get(id);
    if (!entry) return;
    open_.delete(id);
    const work = remove(entry);
    removing.add(work);
    await work.finally(() => removing.delete(work));
  };
  return {
    async begin(given, size) {
      const name = uploadName(given);
      for (const [id, entry] of open_) if (!entry.finished && now() - entry.latest > LEFT_MS) await drop(id);
      const count = beginning.size + arriving().length;
      if (count >= MOST)
        throw new WorkbenchError(
          "HANDLE_BUSY",
          `[upload] ${name}: ${count} files are on their way already, at most ${MOST} may be`,
          { hint: "Wait for one of them, or cancel it." },
        );
      const room = { size };
      beginning.add(room);
      try {
        const { folder, path, handle } = await makePlace(name, size, () => promised() - size);
        const upload = randomBytes(12).toString("hex");
        open_.set(upload, {
          name,
          size,
          folder,
          path,
          handle,
          received: 0,
          writing: false,
          latest: now(),
          finished: false,
        });
        return { upload, chunkBytes: CHUNK_BYTES };
      } finally {
        beginning.delete(room);
      }
    },
    async chunk(id, offset, bytes) {
      const entry = find(id);
      if (entry.writing)
        throw new WorkbenchError("HANDLE_BUSY", `[upload] ${entry.name}: the piece before this one is being written`, {
          hint: "Send one piece at a time.",
        });
      if (entry.finished || offset !== entry.received || offset + bytes.byteLength > entry.size)
        throw new WorkbenchError(
          "INPUT_ARGUMENT",
          `[upload] piece at ${offset} of ${bytes.byteLength} bytes: expected one at ${entry.received} within ${entry.size}`,
        );
      entry.writing = true;
      try {
        await writeFully(entry.handle, offset, bytes);
      } finally {
        entry.writing = false;
      }
      entry.received += bytes.byteLength;
      entry.latest = now();
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
    async abandon(id) {
      if (open_.get(id)?.finished === false) await drop(id);
    },
    pathOf(id) {
      const entry = find(id);
      if (!entry.finished) throw new WorkbenchError("HANDLE_BUSY", `[upload] ${entry.name} has not arrived whole yet`);
      return { path: entry.path, name: entry.name };
    },
    async dispose() {
      for (const id of [...open_.keys()]) await drop(id);
      await Promise.allSettled(removing);
    },
  };
}
