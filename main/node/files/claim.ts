/**
 * A claim on an output path while it is written, as a small file beside it: two processes that
 * write the same package at once cannot both succeed. The claim of a process that has ended is
 * taken over.
 */
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { hasEnded, makerName, ownMaker, parseMaker } from "./processes.ts";

export const claimOf = (target: string): string => join(dirname(target), `.${basename(target)}.claim`);

/** Claims the path and returns the release. Throws HANDLE_BUSY while another writer has it. */
export async function claim(target: string): Promise<() => Promise<void>> {
  const path = claimOf(target);
  if (!(await make(path)) && (!(await takeAway(path)) || !(await make(path))))
    throw new WorkbenchError("HANDLE_BUSY", `[export] ${basename(target)}: another export writes it now`, {
      hint: "Wait for its end, or choose another name.",
    });
  return () => rm(path, { force: true }).catch(() => undefined);
}

/** False where the file exists. */
async function make(path: string): Promise<boolean> {
  try {
    await writeFile(path, makerName(ownMaker()), { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes the claim of a dead process. Only the holder of the lock may: a process that read the dead
 * claim earlier would otherwise remove the new one.
 */
async function takeAway(path: string): Promise<boolean> {
  const dead = await deadClaim(path);
  if (dead === undefined) return false;
  const lock = `${path}.lock`;
  if (!(await make(lock))) {
    // Its holder died: the next attempt succeeds.
    if ((await deadClaim(lock)) !== undefined) await rm(lock, { force: true });
    return false;
  }
  try {
    if ((await deadClaim(path)) === dead) await rm(path, { force: true });
  } finally {
    await rm(lock, { force: true });
  }
  return true;
}

/** The text of a claim whose process has ended. */
async function deadClaim(path: string): Promise<string | undefined> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    const maker = parseMaker(text);
    return maker !== undefined && hasEnded(maker, mtimeMs) ? text : undefined;
  } catch {
    // Released meanwhile.
    return undefined;
  }
}
