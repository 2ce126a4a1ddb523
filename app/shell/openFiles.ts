/** Files named on the command line of a start, the first or a second one. */
import { resolve } from "node:path";

/**
 * The files among the arguments of a start, made absolute, without switches and without the `own`
 * paths that Electron was started with. The engine checks whether a file exists.
 */
export function filesOf(argv: readonly string[], cwd: string, own: readonly string[]): readonly string[] {
  return argv
    .filter((argument) => argument !== "" && !argument.startsWith("-"))
    .map((argument) => resolve(cwd, argument))
    .filter((path) => !own.includes(path));
}
