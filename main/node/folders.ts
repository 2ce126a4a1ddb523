/** Where this user's files are: recents and compiled models in one folder, what can be made again in another. */
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/** A relative path is to be ignored, says the XDG specification; and an empty one is none. */
const xdgFolder = (path: string | undefined, usual: readonly string[]): string =>
  path !== undefined && isAbsolute(path) ? path : join(homedir(), ...usual);

/** `home`: RLX_HOME. */
export function dataFolder(
  home: string | null,
  environment: Environment,
  platform: NodeJS.Platform = process.platform,
): string {
  if (home !== null) return home;
  if (platform === "darwin") return join(homedir(), "Library", "Application Support", "RLX Workbench");
  return join(xdgFolder(environment["XDG_DATA_HOME"], [".local", "share"]), "rlx-workbench");
}

/** Undefined when it is switched off. `cache`: RLX_CACHE. */
export function cacheFolder(
  { cache, home }: { readonly cache: string | null; readonly home: string | null },
  environment: Environment,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  if (cache === "off") return undefined;
  if (cache !== null) return cache;
  if (home !== null) return join(home, "cache");
  if (platform === "darwin") return join(homedir(), "Library", "Caches", "RLX Workbench");
  return join(xdgFolder(environment["XDG_CACHE_HOME"], [".cache"]), "rlx-workbench");
}
