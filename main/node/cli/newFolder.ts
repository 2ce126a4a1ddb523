/** A folder that a command writes its files into: it may be there or not, but nothing else may have its name. */
import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { WorkbenchError } from "../../diagnostics/errors.ts";

/** Asked before the command computes anything; gives the whole path. */
export async function requireFolder(who: string, name: string): Promise<string> {
  const path = resolve(name);
  let above = path;
  let found = await factsOf(above);
  while (found === undefined && dirname(above) !== above) {
    above = dirname(above);
    found = await factsOf(above);
  }
  if (found === undefined || found.isDirectory()) return path;
  throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] --output: got ${above}, which is no folder, expected one`, {
    hint: "Name a folder; it is made where there is none.",
  });
}

const factsOf = (path: string): Promise<Stats | undefined> => stat(path).catch(() => undefined);
