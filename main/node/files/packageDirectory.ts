/**
 * Packages on disk. A package is written under a temporary name beside its target and renamed when
 * complete: a crash, a full disk or a cancel never leaves half a package under the final name.
 */
import { open, rename, rm, stat } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { PositionedSink, RangeSource } from "../../backends/coreml/blob.ts";
import type { DirectoryReader, DirectoryWriter } from "../../backends/coreml/package.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { claim } from "./claim.ts";
import type { Note } from "./abandonedFiles.ts";
import { asideOf, partialName } from "./abandonedFiles.ts";
import { makeFolder } from "./makeFolder.ts";
import { writeFully } from "./writeFully.ts";

function ioError(path: string, cause: unknown): WorkbenchError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const hint =
    code === "ENOSPC"
      ? "The disk is full: free some space or choose another folder."
      : "Choose a folder that can be written to.";
  return new WorkbenchError(
    "ENV_IO",
    `[export] cannot write ${basename(path)}: ${cause instanceof Error ? cause.message : String(cause)}`,
    { cause, hint },
  );
}

async function guarded<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw cause instanceof WorkbenchError ? cause : ioError(path, cause);
  }
}

async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open directories; there the rename itself is durable enough.
  if (process.platform === "win32") return;
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Replaces `target` once everything is written. `note` gets what to remove if this process dies. */
export async function packageWriter(target: string, note?: Note): Promise<DirectoryWriter> {
  const parent = dirname(target);
  const temporary = join(parent, partialName(target));
  await guarded(target, () => makeFolder(parent));
  const giveUp = await guarded(target, () => claim(target));
  const forgetNote = await note?.(temporary);
  const forget = async (): Promise<void> => {
    await forgetNote?.();
    await giveUp();
  };
  await guarded(target, () => makeFolder(temporary)).catch(async (error: unknown) => {
    await forget();
    throw error;
  });
  const directories = new Set([temporary]);
  const opened = new Set<FileHandle>();
  const cleanUp = async (): Promise<void> => {
    await Promise.allSettled([...opened].map((handle) => handle.close()));
    await rm(temporary, { recursive: true, force: true });
    await forget();
  };
  let state: "open" | "done" = "open";
  return {
    file: (path, byteLength) =>
      guarded(path, async (): Promise<PositionedSink & { close(): Promise<void> }> => {
        const full = join(temporary, path);
        await makeFolder(dirname(full));
        for (let at = dirname(full); at.length > temporary.length; at = dirname(at)) directories.add(at);
        const handle = await open(full, "wx");
        opened.add(handle);
        if (byteLength !== undefined) await handle.truncate(byteLength);
        return {
          write: (position, bytes) => guarded(path, () => writeFully(handle, position, bytes)),
          close: () =>
            guarded(path, async () => {
              if (!opened.delete(handle)) return;
              await handle.sync();
              await handle.close();
            }),
        };
      }),
    commit: () =>
      guarded(target, async () => {
        for (const directory of [...directories].sort((a, b) => b.length - a.length)) await syncDirectory(directory);
        await replace(temporary, target);
        await syncDirectory(parent);
        state = "done";
        await forget();
      }),
    async abandon() {
      if (state === "done") return;
      state = "done";
      await cleanUp();
    },
  };
}

/** A directory cannot be renamed over another: the old one moves aside, and back if that fails. */
async function replace(from: string, to: string): Promise<void> {
  const old = await stat(to).catch(() => undefined);
  if (old === undefined) return rename(from, to);
  const aside = asideOf(from);
  await rename(to, aside);
  try {
    await rename(from, to);
  } catch (error) {
    await rename(aside, to);
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}

/** Files of a package on disk. Handles stay open until `close`. */
export interface PackageReader extends DirectoryReader {
  close(): Promise<void>;
}

export function packageReader(root: string): PackageReader {
  const opened: FileHandle[] = [];
  return {
    async file(path): Promise<RangeSource | undefined> {
      let handle: FileHandle;
      try {
        handle = await open(join(root, path), "r");
      } catch (cause) {
        if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
        throw new WorkbenchError("INPUT_UNREADABLE", `[${basename(root)}] cannot read ${path}`, { cause });
      }
      opened.push(handle);
      const { size } = await handle.stat();
      return {
        byteLength: size,
        async read(offset, length) {
          if (offset + length > size)
            throw new WorkbenchError(
              "INPUT_TRUNCATED",
              `[${basename(root)}] ${path} ends at ${size}, wanted ${offset}..${offset + length}`,
            );
          const bytes = new Uint8Array(length);
          let done = 0;
          while (done < length) {
            const { bytesRead } = await handle.read(bytes, done, length - done, offset + done);
            if (bytesRead === 0)
              throw new WorkbenchError("INPUT_CHANGED", `[${basename(root)}] ${path} shrank while it was read`);
            done += bytesRead;
          }
          return bytes;
        },
      };
    },
    async close() {
      await Promise.allSettled(opened.splice(0).map((handle) => handle.close()));
    },
  };
}
