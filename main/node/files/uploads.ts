/**
 * Dropped files without a path. The header arrives in ranges until it parses. To run or export, the
 * whole file arrives in pieces, in a temporary folder, and behind it the files that its model needs.
 * They are removed when the upload is cancelled or abandoned, with the last model that uses it, or
 * with the engine; after a killed engine, at the start of the next (`abandonedFiles.ts`).
 */
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, open, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { DroppedBeside, Uploads } from "../../engine/services.ts";
import { uploadPrefix } from "./abandonedFiles.ts";
import { writeFully } from "./writeFully.ts";

/** Bytes of one piece. The window sends the next when this one is written. */
export const CHUNK_BYTES = 4 << 20;
/** Most uploads at a time. */
const MOST = 8;
/** An upload without a piece for so long is abandoned: its window was closed or reloaded. */
const LEFT_MS = 60_000;

/** One of the files of an upload; `start`: the offset of its first byte. */
interface Arriving {
  readonly path: string;
  readonly start: number;
  readonly size: number;
}

interface Open {
  readonly name: string;
  /** Of all its files. */
  readonly size: number;
  /** Goes with the upload. */
  readonly folder: string;
  /** The first file, or the folder that was dropped. */
  readonly path: string;
  readonly files: readonly Arriving[];
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

/** The checked name of a file beside the first: it may lie in a folder of its own. */
function nameBeside(given: string): string {
  const parts = given.split("/");
  if (parts.length <= 2 && parts.every((part) => uploadName(part) === part)) return given;
  throw new WorkbenchError("INPUT_ARGUMENT", `[upload] file name: got ${JSON.stringify(given)}, expected one name`, {
    hint: "Rename the file and drop it again.",
  });
}

interface Given {
  readonly name: string;
  readonly folder: string | null;
  /** In the order in which they arrive. */
  readonly files: readonly { readonly name: string; readonly size: number }[];
  readonly size: number;
}

/** What a window wants to send, with every name checked. */
function givenOf(given: string, size: number, { folder = null, beside = [] }: DroppedBeside): Given {
  const name = uploadName(given);
  const files = [{ name, size }, ...beside.map((each) => ({ ...each, name: nameBeside(each.name) }))];
  const names = new Map(files.map((file, i) => [file.name, i]));
  const twice = files.find((file, i) => names.get(file.name) !== i);
  if (twice !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[upload] got ${twice.name} twice, expected it once`);
  const inside = files.find((file) => names.has(dirname(file.name)));
  if (inside !== undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[upload] got ${inside.name} and ${dirname(inside.name)}, expected a file or a folder of that name`,
    );
  const all = files.reduce((sum, file) => sum + file.size, 0);
  return { name, folder: folder === null ? null : uploadName(folder), files, size: all };
}

/** Makes the files in a folder of their own. The disk must hold them beside all other uploads. */
async function makePlace(
  { name, folder: named, files, size }: Given,
  taken: () => number,
): Promise<Pick<Open, "folder" | "path" | "files">> {
  const folder = await mkdtemp(join(tmpdir(), uploadPrefix()));
  try {
    const { bavail, bsize } = await statfs(folder);
    const free = Math.max(0, bavail * bsize - taken());
    if (free < size * 1.02)
      throw new WorkbenchError("ENV_IO", `[upload] ${name} needs ${size} bytes, the temporary folder has ${free}`, {
        hint: "Copy the file to this machine and open it by its path.",
      });
    const base = named === null ? folder : join(folder, named);
    let start = 0;
    const places: Arriving[] = [];
    for (const file of files) {
      const path = join(base, file.name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, "");
      places.push({ path, start, size: file.size });
      start += file.size;
    }
    return { folder, path: named === null ? join(folder, name) : base, files: places };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function writePiece({ path, start }: Arriving, offset: number, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, "r+");
  try {
    await writeFully(handle, offset - start, bytes);
  } finally {
    await handle.close();
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
    async begin(first, firstSize, others = {}) {
      const given = givenOf(first, firstSize, others);
      const { name, size } = given;
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
        const place = await makePlace(given, () => promised() - size);
        const upload = randomBytes(12).toString("hex");
        open_.set(upload, {
          name,
          size,
          ...place,
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
      const end = offset + bytes.byteLength;
      const file = entry.files.find(
        ({ start, size }) => offset >= start && offset < start + size && end <= start + size,
      );
      const isNext = !entry.finished && offset === entry.received && end <= entry.size;
      if (!isNext || (file === undefined && end > offset))
        throw new WorkbenchError(
          "INPUT_ARGUMENT",
          `[upload] piece at ${offset} of ${bytes.byteLength} bytes: expected one at ${entry.received} within ${entry.size}`,
        );
      entry.writing = true;
      try {
        if (file !== undefined) await writePiece(file, offset, bytes);
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
      entry.finished = true;
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
