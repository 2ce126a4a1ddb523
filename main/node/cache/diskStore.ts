/**
 * Entries of the compile cache as files of one folder. An entry is written under a temporary name and renamed, so processes may
 * share the folder; what was not used for longest goes when the folder is over its limit. Nothing here is believed: whoever
 * reads checks the content (main/compiler/compileCache.ts), and a file that is no plain file of a sane size is not opened.
 */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { lstat, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CompileStore } from "../../compiler/compileCache.ts";
import { invariant } from "../../diagnostics/errors.ts";
import type { Settings } from "../settings.ts";
import { userHome, xdgFolder } from "../files/folders.ts";
import { makeFolder } from "../files/makeFolder.ts";

/** Some hundred plans; that of a model with 30 blocks takes 0.1 MB. */
const LIMIT = 64 << 20;
/** What a process that died has left behind is removed after this. */
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
  /** Removes every entry; answers what was really removed. */
  clear(): Promise<DiskStoreFacts>;
}

/** Where this user's compile cache is; undefined when it is switched off. */
export function cacheFolder(
  settings: Pick<Settings, "cache" | "home">,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  if (settings.cache === "off") return undefined;
  if (settings.cache !== null) return settings.cache;
  if (settings.home !== null) return join(settings.home, "cache");
  if (platform === "darwin") return join(userHome(), "Library", "Caches", "RLX Workbench");
  return join(xdgFolder("XDG_CACHE_HOME", ".cache", environment), "rlx-workbench");
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

  /** A file that another process removed first is gone all the same; one that cannot be removed stays. */
  const removeAll = async (entries: readonly Entry[]): Promise<void> => {
    await Promise.all(entries.map(({ path }) => rm(path, { force: true }).catch(() => undefined)));
  };

  /** Drops what was used longest ago, never `newest`: file systems stamp a new file up to some milliseconds too early. */
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
        // Of the file that was opened: another may stand at its path by now.
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

/** Never through a link, and without waiting for somebody to write into a pipe. */
async function openPlain(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}
