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

/** The reason, for the title of what is skipped, or undefined. */
export const sharedFileMissing = (name: string): string | undefined =>
  existsSync(sharedFile(name)) ? undefined : `skipped: shared data without ${name} (RLX_SHARED_DATA names its folder)`;
