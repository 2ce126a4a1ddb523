// Wine, which runs the kernels built for Windows on Linux: its folder, and its server.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasProgram, runCaptured } from "./process.mjs";

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
  const options = { env: environment, timeoutMs: LONGEST_START_MS };
  let said = "";
  for (let start = 0; start < STARTS; start++) {
    const { code, output } = await runCaptured(wine, ["wineboot", "--init"], options);
    if (code === 0) {
      // The server that the start leaves behind ends by itself; the next one stays.
      await runCaptured(server, ["--wait"], options);
      const stays = await runCaptured(server, [`--persistent=${STAY_SECONDS}`], options);
      return stays.code === 0 ? undefined : `Wine's server ended with ${stays.code}: ${stays.output.trim()}`;
    }
    said = output.trim();
    await runCaptured(server, ["--kill"], options);
  }
  return `Wine did not start: ${said}`;
}
