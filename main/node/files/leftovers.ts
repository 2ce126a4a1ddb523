/**
 * What an engine that was killed leaves behind, removed by the next one: uploads in the temporary folder, and packages that were
 * being written. Names of uploads and notes say which process of which machine works on them. A package is written beside the
 * place it is to have, which can be anywhere, so a note in the workbench's own folder says where, for as long as it takes.
 */
import { randomUUID } from "node:crypto";
import { lstat, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { claimOf } from "./claim.ts";
import { makeFolder } from "./makeFolder.ts";
import { hasEnded, MAKER, makerName, ownMaker, parseMaker } from "./processes.ts";

/** The start of the name of an upload's folder. */
export const uploadPrefix = (): string => `rlx-upload-${makerName(ownMaker())}-`;
const UPLOAD = new RegExp(`^rlx-upload-${MAKER.source}-`);
const NOTE = new RegExp(`^${MAKER.source}\\.`);

/** A name beside the target that tells whose it is, and that the cache of compiled models knows as unfinished. */
export const partialName = (target: string): string =>
  `.${basename(target)}.${process.pid}.${randomUUID()}${PARTIAL_ENDING}`;
/** Where the package that is replaced waits meanwhile. */
export const asideOf = (partial: string): string => `${partial}.old`;
const PARTIAL_ENDING = ".partial";
const PARTIAL = /^\.(.+)\.(\d+)\.[0-9a-f-]{36}\.partial$/;

/** Remembers what is being written until the answer is called. */
export type Note = (partial: string) => Promise<() => Promise<void>>;

const notesFolder = (dataFolder: string): string => join(dataFolder, "unfinished");

export function noteIn(dataFolder: string): Note {
  return async (partial) => {
    const note = join(notesFolder(dataFolder), `${makerName(ownMaker())}.${randomUUID()}`);
    try {
      await makeFolder(dirname(note));
      await writeFile(note, partial);
    } catch {
      // A folder that cannot be written to is no reason to refuse a package elsewhere.
    }
    return () => rm(note, { force: true }).catch(() => undefined);
  };
}

/** Of every process that has ended. What cannot be removed stays for the next time. */
export async function removeLeftovers(dataFolder: string, temporary = tmpdir()): Promise<void> {
  const notes = notesFolder(dataFolder);
  for (const name of await namesIn(notes)) {
    const note = join(notes, name);
    if (!NOTE.test(name) || !(await isLeft(note))) continue;
    const partial = await readFile(note, "utf8").catch(() => "");
    // A note is never a reason to remove anything else.
    if (PARTIAL.exec(basename(partial))?.[2] === String(parseMaker(name)?.pid)) await removePartial(partial);
    await remove(note);
  }
  for (const name of await namesIn(temporary)) {
    const folder = join(temporary, name);
    if (UPLOAD.test(name) && (await isLeft(folder))) await remove(folder);
  }
}

/** Our user's, of a process that has ended. */
async function isLeft(path: string): Promise<boolean> {
  const info = await lstat(path).catch(() => undefined);
  if (info === undefined || (process.getuid !== undefined && info.uid !== process.getuid())) return false;
  const maker = parseMaker(basename(path));
  return maker !== undefined && hasEnded(maker, info.mtimeMs);
}

/** A process that died between the two renames of a replacement has left the old package without its name. */
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
