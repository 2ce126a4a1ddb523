/**
 * Entries of the compile cache as files of one folder. An entry is written under a temporary name and renamed, so processes may
 * share the folder. The oldest entries are evicted when the folder is over its limit. Entries are
 * untrusted: the reader checks the content (main/compiler/compileCache.ts), and only plain files of
 * a sane size are opened.
 */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { lstat, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CompileStore } from "../../compiler/compileCache.ts";
import { invariant } from "../../diagnostics/errors.ts";
import { makeFolder } from "../files/makeFolder.ts";

/** Some hundred plans. The plan of a model with 30 blocks takes 0.1 MB. */
const LIMIT = 64 << 20;
/** Age at which files of dead processes are removed. */
const ABANDONED_MS = 3_600_000;
const ENTRY = /^[0-9a-f]{32,64}\.plan$/;
const UNFINISHED = /^[0-9a-f]{32,64}\.[0-9a-f]{12}\.partial$/;

export interface DiskStoreFacts {
  readonly folder: string;
  readonly entries: number;
  readonly bytes: number;
  readonly limit: number;
}

export interface DiskStore extends CompileStore {
  facts(): Promise<DiskStoreFacts>;
  /** Removes every entry. Returns what was really removed. */
  clear(): Promise<DiskStoreFacts>;
}

interface Entry {
  readonly path: string;
  readonly bytes: number;
  readonly used: number;
}

export function diskStore(folder: string, limit = LIMIT): DiskStore {
  const pathOf = (key: string): string => {
    const name = `${key}.plan`;
    invariant(ENTRY.test(name), `a cache key is a hash, not ${JSON.stringify(key.slice(0, 80))}`);
    return join(folder, name);
  };

  const filesLike = async (pattern: RegExp): Promise<Entry[]> => {
    const names = await readdir(folder).catch(() => []);
    const found = names
      .filter((name) => pattern.test(name))
      .map(async (name): Promise<Entry | undefined> => {
        const path = join(folder, name);
        const info = await lstat(path).catch(() => undefined);
        return info === undefined || info.isDirectory() ? undefined : { path, bytes: info.size, used: info.mtimeMs };
      });
    return (await Promise.all(found)).filter((entry) => entry !== undefined);
  };

  const facts = async (): Promise<DiskStoreFacts> => {
    const entries = await filesLike(ENTRY);
    return { folder, entries: entries.length, bytes: entries.reduce((sum, entry) => sum + entry.bytes, 0), limit };
  };

  /** Another process may have removed the file first. One that cannot be removed stays. */
  const removeAll = async (entries: readonly Entry[]): Promise<void> => {
    await Promise.all(entries.map(({ path }) => rm(path, { force: true }).catch(() => undefined)));
  };

  /** Evicts the oldest entries, never `newest`: file systems stamp a new file some ms too early. */
  const trim = async (newest: string): Promise<void> => {
    const entries = await filesLike(ENTRY);
    let left = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    const dropped: Entry[] = [];
    for (const entry of entries.filter(({ path }) => path !== newest).sort((a, b) => a.used - b.used)) {
      if (left <= limit) break;
      dropped.push(entry);
      left -= entry.bytes;
    }
    const old = Date.now() - ABANDONED_MS;
    const abandoned = (await filesLike(UNFINISHED)).filter((entry) => entry.used < old);
    await removeAll([...dropped, ...abandoned]);
  };

  return {
    facts,
    async get(key) {
      const file = await openPlain(pathOf(key));
      if (file === undefined) return undefined;
      try {
        const info = await file.stat();
        if (!info.isFile() || info.size > limit) return undefined;
        const bytes = await file.readFile();
        const now = new Date();
        // Facts of the open file: its path may name another one by now.
        await file.utimes(now, now).catch(() => undefined);
        return bytes;
      } finally {
        await file.close();
      }
    },
    async put(key, bytes) {
      if (bytes.length > limit) return;
      const path = pathOf(key);
      await makeFolder(folder, 0o700);
      const temporary = join(folder, `${key}.${randomBytes(6).toString("hex")}.partial`);
      try {
        // Not synced: after a power cut a torn entry fails its checksum and is made again.
        await writeFile(temporary, bytes, { flag: "wx", mode: 0o600 });
        await rename(temporary, path);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
      await trim(path);
    },
    async clear() {
      const before = await facts();
      await removeAll([...(await filesLike(ENTRY)), ...(await filesLike(UNFINISHED))]);
      const after = await facts();
      return { ...before, entries: before.entries - after.entries, bytes: before.bytes - after.bytes };
    },
  };
}

/** Follows no link, and does not wait for a writer of a pipe. */
async function openPlain(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}
