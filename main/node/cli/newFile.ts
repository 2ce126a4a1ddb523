/** A file that a command writes beside its answer: whole, and over another one only where that was asked for. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { writeAtomically } from "../files/smallFile.ts";

export async function writeNew(who: string, name: string, text: string, overwrite: boolean): Promise<string> {
  const path = resolve(name);
  if (!overwrite && (await stat(path).catch(() => undefined)) !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] ${path} exists already`, {
      hint: "Choose another name, or overwrite it (--overwrite).",
    });
  await writeAtomically(path, text);
  return path;
}
