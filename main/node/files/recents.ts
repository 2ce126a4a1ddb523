/** Files that were opened, newest first, in one small JSON file. */
import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { Recents } from "../../engine/services.ts";
import { oneAtATime, readList, writeAtomically } from "./smallFile.ts";

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
  const serially = oneAtATime();
  const read = (): Promise<readonly Entry[]> => readList(file, (json) => schema.parse(json).recents);
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
