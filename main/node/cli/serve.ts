/** `rlx serve`: starts the supervisor, prints the address, ends with ^C. With --api it serves other programs (serveApi.ts). */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { modelFiles } from "../files/modelFiles.ts";
import type { Settings } from "../settings.ts";
import { startServer } from "../serve/server.ts";
import { requireName, wholeNumber } from "./client.ts";
import { INTERRUPTED } from "./output.ts";
import type { ServeApiOptions } from "./serveApi.ts";
import { serveApi } from "./serveApi.ts";
import type { Streams, Surroundings } from "./surroundings.ts";

/** Long enough for a slow browser to read the page. */
const PAGE_LIVES_MS = 60_000;

export interface ServeCommandOptions extends ServeApiOptions {
  readonly open?: boolean;
  readonly api?: boolean;
}

export interface ServeSurroundings extends Omit<Surroundings, "environment"> {
  readonly settings: () => Settings;
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
  files: readonly string[],
  options: ServeCommandOptions,
  { streams, interrupted, settings }: ServeSurroundings,
): Promise<number> {
  refuseOthers(files, options);
  const out = outFolder();
  const serving =
    options.api === true
      ? await serveApi(files, options, resolve(out, "engine/index.js"), { apiKey: settings().apiKey, streams })
      : await serveWindow(files[0], options, out, streams);
  const code = await new Promise<number>((ended) => {
    const end = (): void => ended(interrupted.reason === "SIGTERM" ? 0 : INTERRUPTED);
    interrupted.addEventListener("abort", end);
    // A signal during the start of the server is not announced again.
    if (interrupted.aborted) end();
  });
  await serving.close();
  return code;
}

/** Options of the API alone, by their flags. */
const OF_API = {
  models: "--models",
  host: "--host",
  apiKey: "--api-key",
  device: "--device",
  context: "--context",
  threads: "--threads",
  cacheType: "--cache-type",
  memory: "--memory",
  maxWaiting: "--max-waiting",
  logTexts: "--log-texts",
} as const satisfies { readonly [K in keyof ServeApiOptions]?: string };

function refuseOthers(files: readonly string[], options: ServeCommandOptions): void {
  const refuse = (what: string, hint: string): WorkbenchError =>
    new WorkbenchError("INPUT_ARGUMENT", `[rlx serve] ${what}`, { hint });
  if (options.api === true) {
    if (options.open === true) throw refuse("--open: got it beside --api", "The API has no page. Leave --open out.");
    return;
  }
  const given = (Object.keys(OF_API) as (keyof typeof OF_API)[]).find((name) => options[name] !== undefined);
  const flag = given === undefined ? (options.key === false ? "--no-key" : undefined) : OF_API[given];
  if (flag !== undefined) throw refuse(`${flag}: got it without --api`, "It belongs to --api.");
  if (files.length > 1) throw refuse(`got ${files.length} files, expected one`, "Several models are for --api.");
}

/** The window for a browser. */
async function serveWindow(
  file: string | undefined,
  options: ServeCommandOptions,
  out: string,
  { stdout, stderr }: Streams,
): Promise<{ close(): Promise<void> }> {
  const port = wholeNumber("port", options.port, 0, 65_535);
  if (file !== undefined) requireName(file);
  // Fails here too, not only in the window: the exit code has to say it.
  if (file !== undefined) await (await modelFiles.open(resolve(file))).source.close();
  const newAddress = (): string => server.url(file === undefined ? undefined : resolve(file));
  const server = await startServer({
    port,
    onTicketUsed: () => {
      if (options.json !== true) stdout.write(`For another browser:\n  ${newAddress()}\n`);
    },
    rendererFolder: resolve(out, "renderer"),
    engineEntry: resolve(out, "engine/index.js"),
    onLost: (reason) => stderr.write(`The engine was lost: ${reason}. It starts anew with the next request.\n`),
  });
  if (options.json === true)
    stdout.write(`${JSON.stringify({ url: newAddress(), port: server.port, token: server.token })}\n`);
  else
    stdout.write(`RLX Workbench is at\n  ${newAddress()}\nThe address works once, on this machine. End with Ctrl+C.\n`);
  const page = options.open === true ? await openBrowser(newAddress()) : undefined;
  // The engine warms up while the browser starts.
  server.engine.start();
  return {
    async close() {
      await server.close();
      await page?.remove();
    },
  };
}

/**
 * Opens the address without naming it on a command line, where every user of the machine could read it: the browser gets
 * a page that only this user can read and that goes on to the address. Gives what removes the page.
 */
async function openBrowser(url: string): Promise<{ remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "rlx-open-"));
  const page = join(folder, "open.html");
  const target = url.replaceAll("&", "&amp;");
  await writeFile(page, `<!doctype html><meta http-equiv="refresh" content="0;url=${target}">`, { mode: 0o600 });
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", page]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", "", page]
        : ["xdg-open", page];
  // Without a browser, the address on the terminal remains.
  if (command !== undefined)
    spawn(command, args, { stdio: "ignore", detached: true })
      .on("error", () => undefined)
      .unref();
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  setTimeout(() => void remove(), PAGE_LIVES_MS).unref();
  return { remove };
}
