/**
 * Removes the files of a killed engine: uploads in the temporary folder, and unfinished packages.
 * Names of uploads and notes hold the process and machine that made them. A package is written
 * beside its target, which can be anywhere, so a note in the data folder says where meanwhile.
 */
import { randomUUID } from "node:crypto";
import { lstat, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { claimOf } from "./claim.ts";
import { makeFolder } from "./makeFolder.ts";
import { hasEnded, MAKER, makerName, ownMaker, parseMaker } from "./processes.ts";

/** Prefix of an upload's folder. */
export const uploadPrefix = (): string => `rlx-upload-${makerName(ownMaker())}-`;
const UPLOAD = new RegExp(`^rlx-upload-${MAKER.source}-`);
const NOTE = new RegExp(`^${MAKER.source}\\.`);

/** A name beside the target with its maker. The cache of compiled models treats it as unfinished. */
export const partialName = (target: string): string =>
  `.${basename(target)}.${process.pid}.${randomUUID()}${PARTIAL_ENDING}`;
/** Temporary name of the package that is being replaced. */
export const asideOf = (partial: string): string => `${partial}.old`;
const PARTIAL_ENDING = ".partial";
const PARTIAL = /^\.(.+)\.(\d+)\.[0-9a-f-]{36}\.partial$/;

/** Notes what is being written. Returns the function that removes the note. */
export type Note = (partial: string) => Promise<() => Promise<void>>;

const notesFolder = (dataFolder: string): string => join(dataFolder, "unfinished");

export function unfinishedNote(dataFolder: string): Note {
  return async (partial) => {
    const note = join(notesFolder(dataFolder), `${makerName(ownMaker())}.${randomUUID()}`);
    try {
      await makeFolder(dirname(note));
      await writeFile(note, partial);
    } catch {
      // A read-only data folder does not forbid a package elsewhere.
    }
    return () => rm(note, { force: true }).catch(() => undefined);
  };
}

/** Removes the files of every dead process. The next start retries failures. */
export async function removeAbandonedFiles(dataFolder: string, temporary = tmpdir()): Promise<void> {
  const notes = notesFolder(dataFolder);
  for (const name of await namesIn(notes)) {
    const note = join(notes, name);
    if (!NOTE.test(name) || !(await isLeft(note))) continue;
    const partial = await readFile(note, "utf8").catch(() => "");
    // A note allows the removal of these names only.
    if (PARTIAL.exec(basename(partial))?.[2] === String(parseMaker(name)?.pid)) await removePartial(partial);
    await remove(note);
  }
  for (const name of await namesIn(temporary)) {
    const folder = join(temporary, name);
    if (UPLOAD.test(name) && (await isLeft(folder))) await remove(folder);
  }
}

/** True for a file of our user whose process has ended. */
async function isLeft(path: string): Promise<boolean> {
  const info = await lstat(path).catch(() => undefined);
  if (info === undefined || (process.getuid !== undefined && info.uid !== process.getuid())) return false;
  const maker = parseMaker(basename(path));
  return maker !== undefined && hasEnded(maker, info.mtimeMs);
}

/** Restores a package whose process died between the two renames of a replacement. */
async function removePartial(partial: string): Promise<void> {
  const target = join(dirname(partial), PARTIAL.exec(basename(partial))?.[1] ?? "");
  const aside = asideOf(partial);
  if (await isThere(aside)) {
    if (await isThere(target)) await remove(aside);
    else await rename(aside, target).catch(() => undefined);
  }
  await remove(partial);
  await remove(claimOf(target));
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
const namesIn = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);
const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true }).catch(() => undefined);
