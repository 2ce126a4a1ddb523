/**
 * The folder of compiled models: sizes, times of last use, eviction. A model is renamed before it is
 * removed, so that no process finds half of one.
 */
import { randomUUID } from "node:crypto";
import type { Dirent } from "node:fs";
import { lstat, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isAnother, isSinceStart } from "../../files/processes.ts";

export const COMPILED = ".mlmodelc";
const INDEX = ".json";
/** Leftovers of dead processes, and models under removal. */
const UNFINISHED = /\.(?:mlpackage|partial|going|gone)$/;
const CONTENT = /^[0-9a-f]{32}\.mlmodelc$/;
/** Unfinished names with their process, and marks of open models. */
const OWNED = /\.(\d+)\.(?:[0-9a-f-]{36}\.)?(?:mlpackage|partial|going)$/;
const USE = /^([0-9a-f]{32})\.(\d+)\.use$/;

export interface CacheBounds {
  readonly bytes: number;
  readonly ageMs: number;
  /** Recently used models stay: another process may be about to load one. */
  readonly graceMs: number;
}
/** Room for some models of a few billion f16 weights, and a month. */
export const BOUNDS: CacheBounds = { bytes: 32e9, ageMs: 30 * 86_400_000, graceMs: 3_600_000 };

export interface CompiledFacts {
  readonly folder: string;
  readonly entries: number;
  readonly bytes: number;
  readonly limit: number;
}

export interface FoundModel {
  readonly content: string;
  readonly path: string;
  readonly bytes: number;
  readonly usedMs: number;
  /** Index files that name it. */
  readonly indexes: readonly string[];
}

export const sumOf = (models: readonly FoundModel[]): { readonly entries: number; readonly bytes: number } => ({
  entries: models.length,
  bytes: models.reduce((sum, model) => sum + model.bytes, 0),
});

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

async function bytesOf(path: string): Promise<number> {
  const inside: Dirent[] = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = inside
    .filter((entry) => entry.isFile())
    .map((entry) =>
      lstat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

const changedMs = (path: string): Promise<number> =>
  lstat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

/** The index entry of an export. */
export interface IndexFacts {
  /** Hash of the content. */
  readonly content: string;
  readonly functions: readonly string[];
  readonly userDefined: Readonly<Record<string, string>>;
}

const isText = (value: unknown): value is string => typeof value === "string";

/** Undefined where there is none, or where the file is damaged. */
export async function readIndex(path: string): Promise<IndexFacts | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    const { content, functions, userDefined } = value as { readonly [K in keyof IndexFacts]?: unknown };
    if (!isText(content) || !CONTENT.test(`${content}${COMPILED}`)) return undefined;
    if (!Array.isArray(functions) || !functions.every(isText)) return undefined;
    if (typeof userDefined !== "object" || userDefined === null || !Object.values(userDefined).every(isText))
      return undefined;
    return { content, functions, userDefined: userDefined as IndexFacts["userDefined"] };
  } catch {
    return undefined;
  }
}

interface IndexFile {
  readonly path: string;
  readonly content: string;
  readonly usedMs: number;
}

async function indexFile(path: string): Promise<IndexFile> {
  const [usedMs, facts] = [await changedMs(path), await readIndex(path)];
  return { path, content: facts?.content ?? "", usedMs };
}

export async function modelsIn(folder: string): Promise<readonly FoundModel[]> {
  const names = await namesIn(folder);
  const indexes = await Promise.all(
    names.filter((name) => name.endsWith(INDEX)).map((name) => indexFile(join(folder, name))),
  );
  return Promise.all(
    names
      .filter((name) => CONTENT.test(name))
      .map(async (name) => {
        const content = name.slice(0, -COMPILED.length);
        const path = join(folder, name);
        const own = indexes.filter((index) => index.content === content);
        const usedMs = Math.max(await changedMs(path), ...own.map((index) => index.usedMs));
        return { content, path, bytes: await bytesOf(path), usedMs, indexes: own.map((index) => index.path) };
      }),
  );
}

/**
 * Removes a model that is not in use. A remover leaves a mark before it looks for uses, and a user
 * leaves one before it looks for removals (`markUse`), so the second sees the first. The model is
 * renamed first, and its index entries follow.
 */
async function removeModel(folder: string, model: FoundModel, kept: ReadonlySet<string>): Promise<void> {
  const { content, path, indexes } = model;
  const going = join(folder, `${content}.${process.pid}.${randomUUID()}.going`);
  const gone = `${path}.${randomUUID()}.gone`;
  try {
    await writeFile(going, "");
    if ((await usedByOthers(folder)).has(content) || kept.has(content)) return;
    await rename(path, gone);
    await Promise.all(indexes.map((index) => rm(index, { force: true })));
  } catch {
    // Another process was faster, or it cannot be removed. The next count sees it.
  } finally {
    await rm(going, { force: true }).catch(() => undefined);
  }
  await rm(gone, { recursive: true, force: true }).catch(() => undefined);
}

/** Models that are too old, and the oldest ones while the folder is too large. */
export function superfluous(
  models: readonly FoundModel[],
  { bytes, ageMs, graceMs }: CacheBounds,
  nowMs: number,
  kept: ReadonlySet<string>,
): readonly FoundModel[] {
  let left = sumOf(models).bytes;
  const dropped: FoundModel[] = [];
  for (const model of [...models].sort((a, b) => a.usedMs - b.usedMs)) {
    const unused = nowMs - model.usedMs;
    if (kept.has(model.content) || unused < graceMs || (unused < ageMs && left <= bytes)) continue;
    dropped.push(model);
    left -= model.bytes;
  }
  return dropped;
}

const isOthersWork = (name: string): boolean => isAnother(Number(OWNED.exec(name)?.[1] ?? process.pid));

/** Longer than a removal takes from its mark to the rename. A process may die in between. */
const REMOVAL_MS = 2000;

/**
 * Marks a model as open for other processes: Core ML may reopen its files, function by function. Waits
 * for a removal under way: then the model is gone, or stays.
 */
export async function markUse(folder: string, content: string): Promise<void> {
  await writeFile(join(folder, `${content}.${process.pid}.use`), "").catch(() => undefined);
  const end = performance.now() + REMOVAL_MS;
  while (performance.now() < end && (await isGoing(folder, content))) await wait(5);
}

async function isGoing(folder: string, content: string): Promise<boolean> {
  const marks = (await namesIn(folder)).filter((name) => name.startsWith(content) && name.endsWith(".going"));
  for (const name of marks)
    if ((isOthersWork(name) || isOwn(name)) && isSinceStart(await changedMs(join(folder, name)))) return true;
  return false;
}

const isOwn = (name: string): boolean => Number(OWNED.exec(name)?.[1]) === process.pid;

/** Models that other processes have open. Removes the marks of dead processes. */
export async function usedByOthers(folder: string): Promise<ReadonlySet<string>> {
  const used = new Set<string>();
  for (const name of await namesIn(folder)) {
    const [, content, pid] = USE.exec(name) ?? [];
    if (content === undefined || Number(pid) === process.pid) continue;
    if (isAnother(Number(pid)) && isSinceStart(await changedMs(join(folder, name)))) used.add(content);
    else await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
  return used;
}

/** Keeps the folder within its bounds; `kept` are in use. */
export async function trimModels(folder: string, bounds: CacheBounds, kept: ReadonlySet<string>): Promise<void> {
  const now = Date.now();
  const inUse = new Set([...kept, ...(await usedByOthers(folder))]);
  await Promise.all(
    superfluous(await modelsIn(folder), bounds, now, inUse).map((model) => removeModel(folder, model, kept)),
  );
  for (const name of (await namesIn(folder)).filter((one) => UNFINISHED.test(one) && !isOthersWork(one))) {
    const path = join(folder, name);
    if (now - (await changedMs(path)) > bounds.graceMs)
      await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Removes all models but those that other processes have open or are making. */
export async function removeEverything(folder: string): Promise<void> {
  await Promise.all((await modelsIn(folder)).map((model) => removeModel(folder, model, new Set())));
  const kept = new Set((await modelsIn(folder)).flatMap(({ indexes }) => indexes));
  const rest = (name: string): boolean =>
    // Our own mark belongs to a removal under way, which takes it away.
    (UNFINISHED.test(name) && !isOthersWork(name) && !(isOwn(name) && name.endsWith(".going"))) ||
    (name.endsWith(INDEX) && !kept.has(join(folder, name))) ||
    name.endsWith(`.${process.pid}.use`);
  for (const name of (await namesIn(folder)).filter(rest))
    await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
}
