/**
 * Files that were opened, newest first, in one small JSON file. Written to a temporary name and renamed; a file that cannot be
 * read is moved aside, never overwritten.
 */
import { readFile, rename, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { Recents } from "../../engine/services.ts";
import { openFileSink } from "./fileByteSource.ts";
import { makeFolder } from "./makeFolder.ts";

const schema = z.object({
  version: z.literal(1),
  recents: z.array(z.object({ path: z.string(), openedAt: z.number() })),
});
const MOST = 50;

export function createRecents(folder: string): Recents {
  const file = join(folder, "recents.json");
  let queue: Promise<unknown> = Promise.resolve();
  /** One change after the other. */
  const serially = <T>(work: () => Promise<T>): Promise<T> => {
    const next = queue.then(work);
    queue = next.catch(() => undefined);
    return next;
  };
  const read = async (): Promise<readonly { readonly path: string; readonly openedAt: number }[]> => {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) return [];
    try {
      return schema.parse(JSON.parse(text)).recents;
    } catch {
      await rename(file, `${file}.unreadable`);
      return [];
    }
  };
  const change = (path: string, openedAt: number | undefined): Promise<void> =>
    serially(async () => {
      const others = (await read()).filter((entry) => entry.path !== path);
      const recents = openedAt === undefined ? others : [{ path, openedAt }, ...others].slice(0, MOST);
      await writeAtomically(file, JSON.stringify({ version: 1, recents }, undefined, 1));
    });
  return {
    list: () =>
      serially(async () =>
        Promise.all(
          (await read()).map(async ({ path, openedAt }) => {
            const found = await stat(path).catch(() => undefined);
            return {
              path,
              name: basename(path),
              folder: dirname(path),
              bytes: found?.size ?? 0,
              openedAt,
              exists: found !== undefined,
            };
          }),
        ),
      ),
    add: (path) => change(path, Date.now()),
    remove: (path) => change(path, undefined),
  };
}

/** Temporary name, fsync, rename: a crash leaves the old file or the new one. */
export async function writeAtomically(file: string, text: string): Promise<void> {
  await makeFolder(dirname(file));
  const sink = await openFileSink(file);
  try {
    await sink.write(Buffer.from(text));
    await sink.finish();
  } finally {
    await sink.abandon();
  }
}
