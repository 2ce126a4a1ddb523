/**
 * A claim on an output path while it is written, as a small file beside it: two processes that write the same package at
 * once cannot both succeed. The claim of a process that has ended is taken over.
 */
import { randomUUID } from "node:crypto";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
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

/** Removes the claim of a dead process. Only one of two processes can rename the file. */
async function takeAway(path: string): Promise<boolean> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    const maker = parseMaker(text);
    if (maker === undefined || !hasEnded(maker, mtimeMs)) return false;
    const aside = `${path}.${randomUUID()}`;
    await rename(path, aside);
    await rm(aside, { force: true });
    return true;
  } catch {
    // It was released or taken over meanwhile. The next attempt decides.
    return true;
  }
}
