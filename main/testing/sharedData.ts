/**
 * Files that lie beside the repository and are not copied into it (vocabularies, chat templates). Tests that need one
 * are skipped, and say why, when it is not there.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** RLX_SHARED_DATA, or ../shared/data next to the repository. */
export const sharedFolder = (): string => process.env["RLX_SHARED_DATA"] ?? join(root, "..", "shared", "data");
export const sharedFile = (name: string): string => join(sharedFolder(), name);

const told = new Set<string>();
/** True, and said once on the console, when the file is not there. */
export function sharedFileMissing(name: string): boolean {
  const missing = !existsSync(sharedFile(name));
  if (missing && !told.has(name)) {
    told.add(name);
    console.warn(`skipped: ${name} is not in ${sharedFolder()} (set RLX_SHARED_DATA to the folder that has it)`);
  }
  return missing;
}
