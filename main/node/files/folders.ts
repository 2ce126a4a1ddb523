/** Folders of this user. An empty or relative HOME or XDG variable counts as unset: nothing lands in the current folder. */
import { homedir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { WorkbenchError } from "../../diagnostics/errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The folder of the user: HOME, or what the system's list of users says. */
export function userHome(): string {
  const places = [homedir(), listedHome()];
  const home = places.find((place) => isAbsolute(place));
  if (home !== undefined) return home;
  throw new WorkbenchError("ENV_IO", `[home] got ${JSON.stringify(places[0])}, expected the path of a folder`, {
    hint: "Set HOME, or name a folder for the workbench's files in RLX_HOME.",
  });
}

function listedHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    // A user that the system does not list has no home.
    return "";
  }
}

/** A folder of the XDG specification, which says that relative paths are to be ignored. */
export function xdgFolder(name: string, usual: string, environment: Environment = process.env): string {
  const given = environment[name];
  return given !== undefined && isAbsolute(given) ? given : join(userHome(), usual);
}
