/**
 * Small files of the data folder: written whole under a temporary name and renamed, changed one change after the other. A list that
 * cannot be read is moved aside, never overwritten.
 */
import { readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { openFileSink } from "./fileByteSource.ts";
import { makeFolder } from "./makeFolder.ts";

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

export type Serially = <T>(work: () => Promise<T>) => Promise<T>;

/** Each work starts when those before it have ended, well or not. */
export function oneAtATime(): Serially {
  let queue: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = queue.then(work);
    queue = next.catch(() => undefined);
    return next;
  };
}

/** The same for files of a folder: the works of one name follow each other, and wait for no others. */
export function oneAtATimeOfEach(): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  const queues = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const next = (queues.get(name) ?? Promise.resolve()).then(work);
    const settled = next.catch(() => undefined);
    queues.set(name, settled);
    try {
      return await next;
    } finally {
      if (queues.get(name) === settled) queues.delete(name);
    }
  };
}

/** The entries of a JSON file; none where there is no file, or one that `parse` refuses. */
export async function readList<Entry>(
  file: string,
  parse: (json: unknown) => readonly Entry[],
): Promise<readonly Entry[]> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return [];
  try {
    return parse(JSON.parse(text));
  } catch {
    await rename(file, `${file}.unreadable`);
    return [];
  }
}
