// Wine, which runs the kernels built for Windows on Linux: its folder, and its server.
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasProgram, run } from "./process.mjs";

/** Debian's package wine64 puts its programs on no path. */
export const findWine = () => ["wine64", "/usr/lib/wine/wine64"].find((name) => hasProgram(name));
const findServer = () => ["wineserver", "/usr/lib/wine/wineserver64"].find((name) => hasProgram(name));

/** Wine's folder links to the whole file system, so it stays outside the project: tools that walk it follow links. */
const environment = {
  WINEPREFIX: join(tmpdir(), `rlx-wine-${process.getuid?.() ?? 0}`),
  WINEDEBUG: "-all",
  WINEDLLOVERRIDES: "mscoree,mshtml=",
};

/** What starts a program for Windows, as CMake writes lists. */
export const wineLauncher = () =>
  ["env", ...Object.entries(environment).map(([name, value]) => `${name}=${value}`), findWine() ?? "wine64"].join(";");

const LONGEST_START_MS = 180_000;
const STARTS = 3;
/** How long the server stays when no program runs. */
const STAY_SECONDS = 300;

/**
 * Makes Wine's folder and starts a server that stays. Without it, the first program makes the folder, which hangs now and
 * then, and a program that starts while a server ends loses its connection. Gives undefined, or the reason why it could not.
 */
export async function prepareWine() {
  const server = findServer();
  const wine = findWine();
  if (wine === undefined || server === undefined) return "Wine is missing";
  // Nothing is captured: what they start lives on with their pipes, and would be waited for.
  const options = { env: environment, timeoutMs: LONGEST_START_MS, quiet: true };
  mkdirSync(environment.WINEPREFIX, { recursive: true });
  for (let start = 0; start < STARTS; start++) {
    // Ends with 2 where none runs. One that runs may be about to end.
    await run(server, ["--kill"], options);
    const code = await run(server, [`--persistent=${STAY_SECONDS}`], options);
    if (code !== 0) return `Wine's server ended with ${code}`;
    if ((await run(wine, ["wineboot", "--init"], options)) === 0) return undefined;
  }
  return `Wine did not start in ${STARTS} attempts`;
}
