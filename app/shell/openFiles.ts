/** Files named on the command line of a start, the first or a second one. */
import { resolve } from "node:path";

/**
 * The files among the arguments of a start, made absolute. Switches are none, and the `own` paths, by which Electron itself
 * was told what to run. Whether there is such a file, and what it is, the engine says: nothing that was named is dropped.
 */
export function filesOf(argv: readonly string[], cwd: string, own: readonly string[]): readonly string[] {
  return argv
    .filter((argument) => argument !== "" && !argument.startsWith("-"))
    .map((argument) => resolve(cwd, argument))
    .filter((path) => !own.includes(path));
}
