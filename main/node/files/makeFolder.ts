/**
 * A folder with those above it. Not Node's `recursive`: where a file system answers "no such file" to the making of a folder
 * whose parent is there (/proc does), that one tries again without end.
 */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** `mode` is that of every folder that is made. */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  // A folder that is there ends the way up, so that only what is missing is made.
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
