/**
 * Files as byte sources and sinks. A source notices when its file changes or shrinks while it is open; a sink writes
 * under a temporary name and shows its work only when it is complete and on the disk.
 */
import { randomBytes } from "node:crypto";
import { open, rename, rm, stat } from "node:fs/promises";
import type { BigIntStats, Stats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { WorkbenchError, throwIfCancelled } from "../../diagnostics/errors.ts";
import type { ErrorCode } from "../../diagnostics/codes.ts";
import type { ByteSink } from "../../formats/byteSink.ts";
import { checkRange } from "../../formats/byteSource.ts";
import type { ByteSource, SiblingOpener } from "../../formats/byteSource.ts";
import { isModuleFile } from "../../formats/huggingface/modules.ts";

export interface FileByteSource extends ByteSource {
  readonly path: string;
  readonly identity: string;
  /** Fails with INPUT_CHANGED when the file is no longer what was opened. */
  readonly verify: () => Promise<void>;
}

/** Bytes of one system call: small, so that a cancel takes effect soon. */
const READ_STEP = 16 << 20;

export async function openFileSource(path: string): Promise<FileByteSource> {
  const cannotOpen = (error: unknown): never => {
    throw fileError(path, "open", error);
  };
  // Checked before opening: the open of a pipe waits for a writer.
  requireFile(path, await stat(path).catch(cannotOpen));
  const handle = await open(path, "r").catch(cannotOpen);
  try {
    const facts = await handle.stat({ bigint: true });
    requireFile(path, facts);
    return sourceOver(handle, path, facts);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function requireFile(path: string, facts: Stats | BigIntStats): void {
  if (facts.isFile()) return;
  const what = facts.isDirectory() ? "folder" : facts.isFIFO() ? "pipe" : facts.isSocket() ? "socket" : "device";
  throw new WorkbenchError("INPUT_UNREADABLE", `[${basename(path)}] got a ${what}, expected a file`, {
    hint: "Choose the model file itself.",
  });
}

/** native/src/core/weights.cpp writes the same text and compares it when weights are mapped. */
const identityOf = ({ dev, ino, size, mtimeNs }: BigIntStats): string => [dev, ino, size, mtimeNs].join(":");

function sourceOver(handle: FileHandle, path: string, facts: BigIntStats): FileByteSource {
  const name = basename(path);
  const byteLength = Number(facts.size);
  let closed: Promise<void> | undefined;
  const verify = async (): Promise<void> => {
    const now = await handle.stat({ bigint: true }).catch((error: unknown) => {
      throw fileError(path, "stat", error);
    });
    if (now.size !== facts.size || now.mtimeNs !== facts.mtimeNs)
      throw new WorkbenchError(
        "INPUT_CHANGED",
        `[${name}] the file changed while it was open: got ${now.size} bytes, expected ${byteLength}`,
        {
          hint: "Wait until nothing writes to the file any more, then open it again.",
        },
      );
  };
  const source = {
    path,
    name,
    byteLength,
    identity: identityOf(facts),
    verify,
    async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
      checkRange(source, offset, length);
      const out = new Uint8Array(length);
      for (let done = 0; done < length;) {
        throwIfCancelled(signal);
        const step = Math.min(READ_STEP, length - done);
        const { bytesRead } = await handle.read(out, done, step, offset + done).catch((error: unknown) => {
          throw fileError(path, "read", error);
        });
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      // Checked after the read, so that no byte of a changed file gets out.
      await verify();
      return out;
    },
    close: (): Promise<void> => (closed ??= handle.close()),
  };
  return source;
}

/** Opens files of the same folder. A name with a folder in it has no sibling, but for those that models of Hugging Face have. */
export const siblingOpener =
  (path: string): SiblingOpener =>
  async (name) => {
    if (basename(name) !== name && !isModuleFile(name)) return undefined;
    try {
      return await openFileSource(join(dirname(path), name));
    } catch (error) {
      if (error instanceof WorkbenchError && error.code === "INPUT_NOT_FOUND") return undefined;
      throw error;
    }
  };

/** Writes `path` through a temporary file in its folder: synced, then renamed, then the folder synced. */
export async function openFileSink(path: string): Promise<ByteSink> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.part`);
  const handle = await open(temporary, "wx").catch((error: unknown) => {
    throw fileError(path, "create", error);
  });
  let state: "open" | "finished" | "abandoned" = "open";
  return {
    async write(bytes) {
      for (let done = 0; done < bytes.byteLength;) {
        const { bytesWritten } = await handle.write(bytes, done).catch((error: unknown) => {
          throw fileError(path, "write", error);
        });
        done += bytesWritten;
      }
    },
    async finish() {
      try {
        await handle.sync();
        await handle.close();
        await rename(temporary, path);
        state = "finished";
        await syncFolder(dirname(path));
      } catch (error) {
        throw fileError(path, "finish", error);
      }
    },
    async abandon() {
      if (state !== "open") return;
      state = "abandoned";
      await handle.close().catch(() => undefined);
      await rm(temporary, { force: true });
    },
  };
}

/** A rename is durable only when its folder is synced. Not every system can sync one. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

const PERMISSION_HINT = "Give yourself permission to this file, or move it to your own folder.";

/** Our code, a hint, and plain words where the system's own say too little. */
const CODES: Readonly<Record<string, readonly [ErrorCode, string, string?]>> = {
  ENOENT: ["INPUT_NOT_FOUND", "Check the path; the file may have been moved.", "there is no such file"],
  ENOTDIR: ["INPUT_NOT_FOUND", "Check the path; a part of it is not a folder.", "there is no such folder"],
  EACCES: ["INPUT_UNREADABLE", PERMISSION_HINT, "no permission"],
  EPERM: ["INPUT_UNREADABLE", PERMISSION_HINT, "no permission"],
  ELOOP: ["INPUT_UNREADABLE", "Give the path of the file itself.", "a link leads back to itself"],
  ENAMETOOLONG: ["INPUT_UNREADABLE", "Choose a shorter name.", "the name is too long"],
  EISDIR: ["INPUT_UNREADABLE", "Choose the model file itself, not its folder."],
  ENOSPC: ["ENV_IO", "The disk is full: free some space and try again."],
  EDQUOT: ["ENV_IO", "Your disk quota is used up: free some space and try again."],
  EROFS: ["ENV_IO", "The disk is read-only: choose another folder."],
  EMFILE: ["ENV_IO", "Too many files are open: close some models."],
};

function fileError(path: string, doing: string, error: unknown): WorkbenchError {
  if (error instanceof WorkbenchError) return error;
  const systemCode =
    error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
  const [code, hint, meaning] = CODES[systemCode] ?? ["ENV_IO", "The system refused; its reason is in the details."];
  return new WorkbenchError(code, `[${basename(path)}] cannot ${doing} the file: ${meaning ?? systemCode}`, {
    hint,
    details: { system: systemCode, path },
    cause: error,
  });
}
