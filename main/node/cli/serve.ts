/** `rlx serve`: starts the supervisor, prints the address, ends with ^C. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { openFileSource } from "../files/fileByteSource.ts";
import { startServer } from "../serve/server.ts";
import { requireName, wholeNumber } from "./client.ts";
import { INTERRUPTED } from "./output.ts";

export interface ServeCommandOptions {
  readonly port: string;
  readonly open?: boolean;
  readonly json?: boolean;
}

/** out/, seen from the built command (out/cli) and from its source. */
function outFolder(): string {
  for (const up of ["../", "../../", "../../../out/"]) {
    const folder = fileURLToPath(new URL(up, import.meta.url));
    if (existsSync(resolve(folder, "renderer/index.html"))) return folder;
  }
  throw new WorkbenchError("ENV_NO_RUNTIME", "[serve] the window has not been built", {
    hint: "Run `npm run build`, or start with `npm start`.",
  });
}

/** Serves until it is interrupted, or until it is asked to end (SIGTERM: 0), which is how services end. */
export async function serveCommand(
  file: string | undefined,
  options: ServeCommandOptions,
  interrupted: AbortSignal,
): Promise<number> {
  const port = wholeNumber("port", options.port, 0, 65_535);
  if (file !== undefined) requireName(file);
  // Said here and not only in the window: whoever reads an exit code sees no window.
  if (file !== undefined) await (await openFileSource(resolve(file))).close();
  const out = outFolder();
  const server = await startServer({
    port,
    rendererFolder: resolve(out, "renderer"),
    engineEntry: resolve(out, "engine/index.js"),
    onLost: (reason) => process.stderr.write(`The engine was lost: ${reason}. It starts anew with the next request.\n`),
  });
  const url = server.url(file === undefined ? undefined : resolve(file));
  if (options.json === true)
    process.stdout.write(`${JSON.stringify({ url, port: server.port, token: server.token })}\n`);
  else process.stdout.write(`RLX Workbench is at\n  ${url}\nOnly this machine can reach it. End with Ctrl+C.\n`);
  if (options.open === true) openBrowser(url);
  // The browser takes its time: the engine is ready, and warm, when it comes.
  server.engine.start();
  const code = await new Promise<number>((ended) => {
    const end = (): void => ended(interrupted.reason === "SIGTERM" ? 0 : INTERRUPTED);
    interrupted.addEventListener("abort", end);
    // One that came while the server was starting is not announced again.
    if (interrupted.aborted) end();
  });
  await server.close();
  return code;
}

function openBrowser(url: string): void {
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", "", url]
        : ["xdg-open", url];
  if (command === undefined) return;
  // A machine without a browser still has the address on its terminal.
  spawn(command, args, { stdio: "ignore", detached: true })
    .on("error", () => undefined)
    .unref();
}
