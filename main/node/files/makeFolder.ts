/**
 * Makes a folder and its parents. Node's `recursive` loops without end where a file system answers
 * "no such file" although the parent exists, as /proc does.
 */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** `mode` applies to every new folder. */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  // An existing folder ends the way up.
  if (await isFolder(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path), mode);
  try {
    await mkdir(path, mode);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!(await isFolder(path))) throw error;
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (info) => info.isDirectory(),
    () => false,
  );
