/**
 * What an engine that was killed leaves behind, removed by the next one: uploads in the temporary folder, and packages that were
 * being written. Their names hold the number of the process that works on them. A package is written beside the place it is to
 * have, which can be anywhere, so a note in the workbench's own folder says where, for as long as it takes.
 */
import { randomUUID } from "node:crypto";
import { lstat, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { makeFolder } from "./makeFolder.ts";
import { isAnother, isSinceStart } from "./processes.ts";

/** The start of the name of an upload's folder. */
export const uploadPrefix = (): string => `rlx-upload-${process.pid}-`;
const UPLOAD = /^rlx-upload-(\d+)-/;

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
    const note = join(notesFolder(dataFolder), `${process.pid}.${randomUUID()}`);
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
    if (!(await isLeft(note, Number.parseInt(name, 10)))) continue;
    const partial = await readFile(note, "utf8").catch(() => "");
    // A note is never a reason to remove anything else.
    if (PARTIAL.exec(basename(partial))?.[2] === String(Number.parseInt(name, 10))) await removePartial(partial);
    await remove(note);
  }
  for (const name of await namesIn(temporary)) {
    const pid = UPLOAD.exec(name)?.[1];
    const folder = join(temporary, name);
    if (pid !== undefined && (await isLeft(folder, Number(pid)))) await remove(folder);
  }
}

/** Ours, of a process that has ended. Its number may be our own now: then it was made before the machine was started. */
async function isLeft(path: string, pid: number): Promise<boolean> {
  const info = await lstat(path).catch(() => undefined);
  if (info === undefined || (process.getuid !== undefined && info.uid !== process.getuid())) return false;
  return !isSinceStart(info.mtimeMs) || (pid !== process.pid && !isAnother(pid));
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
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
const namesIn = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);
const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true }).catch(() => undefined);
