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
  recents: z.array(
    z.object({
      path: z.string(),
      openedAt: z.number(),
      /** What its file calls the model. */
      name: z.string().max(300).nullable().default(null),
      variant: z.string().max(200).nullable().default(null),
      identity: z.string().max(200).nullable().default(null),
      aneShare: z
        .object({ share: z.number(), target: z.string().max(200) })
        .nullable()
        .default(null),
    }),
  ),
});
type Entry = z.output<typeof schema>["recents"][number];
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
  const read = async (): Promise<readonly Entry[]> => {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) return [];
    try {
      return schema.parse(JSON.parse(text)).recents;
    } catch {
      await rename(file, `${file}.unreadable`);
      return [];
    }
  };
  const write = (recents: readonly Entry[]): Promise<void> =>
    writeAtomically(file, JSON.stringify({ version: 1, recents: recents.slice(0, MOST) }, undefined, 1));
  return {
    list: () =>
      serially(async () =>
        Promise.all(
          (await read()).map(async ({ path, openedAt, name, ...facts }) => {
            const found = await stat(path).catch(() => undefined);
            return {
              path,
              name: shownName(path, name),
              folder: dirname(path),
              bytes: found?.size ?? 0,
              openedAt,
              exists: found !== undefined,
              ...facts,
            };
          }),
        ),
      ),
    add: (path) =>
      serially(async () => {
        const known = await read();
        const facts = known.find((entry) => entry.path === path) ?? {
          name: null,
          variant: null,
          identity: null,
          aneShare: null,
        };
        await write([{ ...facts, path, openedAt: Date.now() }, ...known.filter((entry) => entry.path !== path)]);
      }),
    note: (path, facts) =>
      serially(async () => {
        const known = await read();
        const entry = known.find((each) => each.path === path);
        if (entry === undefined) return;
        const now = { ...entry, ...facts };
        if (JSON.stringify(now) !== JSON.stringify(entry))
          await write(known.map((each) => (each === entry ? now : each)));
      }),
    remove: (path) => serially(async () => write((await read()).filter((entry) => entry.path !== path))),
  };
}

/** By its file; a blob of Ollama's store is named by a hash, so by what is in it. */
const shownName = (path: string, inside: string | null): string =>
  inside !== null && basename(path).startsWith("sha256-") ? inside : basename(path);

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
