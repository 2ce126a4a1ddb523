/** Where packages may be written, where one would go, and their readers and writers. */
import { mkdtemp, rm, stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, extname, join, resolve } from "node:path";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { PackageFiles } from "../../engine/services.ts";
import { userHome } from "./folders.ts";
import { unfinishedNote, removeAbandonedFiles } from "./abandonedFiles.ts";
import { packageWriter } from "./packageDirectory.ts";

/** An absolute .mlpackage path in an existing folder. Replaces a package only with `overwrite`. */
export async function place(path: string, overwrite: boolean): Promise<string> {
  const where = resolve(path);
  if (extname(where) !== ".mlpackage")
    throw new WorkbenchError("INPUT_ARGUMENT", `[export] ${where}: expected a name that ends in .mlpackage`, {
      hint: "Core ML knows packages by that ending.",
    });
  const folder = await stat(dirname(where)).catch(() => undefined);
  if (folder?.isDirectory() !== true)
    throw new WorkbenchError("INPUT_ARGUMENT", `[export] the folder ${dirname(where)} does not exist`, {
      hint: "Create it first, or choose another.",
    });
  if (!overwrite && (await stat(where).catch(() => undefined)) !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[export] ${where} exists already`, {
      hint: "Choose another name, or overwrite it (--overwrite).",
      details: { exists: true },
    });
  return where;
}

/** `dataFolder`: the place of notes about unfinished packages. */
export const packageFiles = (dataFolder: string): PackageFiles => ({
  writer: (path, { noted } = { noted: false }) => packageWriter(path, noted ? unfinishedNote(dataFolder) : undefined),
  place,
  async suggest(model, name) {
    const folder = model === null ? userHome() : dirname(model);
    const space = await statfs(folder).catch(() => undefined);
    return { path: join(folder, name), freeBytes: space === undefined ? null : space.bavail * space.bsize };
  },
  removeAbandonedFiles: () => removeAbandonedFiles(dataFolder),
  async temporary(name) {
    const folder = await mkdtemp(join(tmpdir(), "rlx-package-"));
    return { path: join(folder, name), remove: () => rm(folder, { recursive: true, force: true }) };
  },
});
