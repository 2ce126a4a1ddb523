/** `rlx serve --api`: the HTTP server for other programs, over an engine of its own process. Its log goes to standard error. */
import { resolve } from "node:path";
import { serverInput } from "../../contract/views/server.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { startApi } from "../api/apiServer.ts";
import { engineClient } from "../api/engineClient.ts";
import { createEngineProcess } from "../serve/engineProcess.ts";
import { deviceOption, oneOf, requireName, wholeNumber } from "./client.ts";
import { harmless } from "./output.ts";
import { cacheTypeGiven } from "./precision.ts";
import { requestLine } from "./requestLine.ts";
import type { Streams } from "./surroundings.ts";

export interface ServeApiOptions {
  readonly port: string;
  readonly json?: boolean;
  readonly models?: readonly string[];
  readonly host?: string;
  readonly apiKey?: string;
  /** False: --no-key. */
  readonly key?: boolean;
  readonly device?: string;
  readonly context?: string;
  readonly threads?: string;
  readonly cacheType?: string;
  readonly memory?: string;
  readonly maxWaiting?: string;
  readonly logTexts?: boolean;
}

const GIGABYTE = 1e9;

/** `known`: the key of the environment. */
function inputOf(files: readonly string[], options: ServeApiOptions, known: string | null) {
  const folders = options.models ?? [];
  for (const file of [...files, ...folders]) requireName(file);
  if (files.length + folders.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx serve] --api: got no model, expected files or --models <folder>", {
      hint: "Name at least one model file.",
    });
  oneOf("the key", { "--api-key": options.apiKey, "--no-key": options.key === false });
  const given = options.key === false ? undefined : (options.apiKey ?? known ?? undefined);
  const number = (name: string, text: string | undefined): object =>
    text === undefined ? {} : { [name]: wholeNumber(name, text, 1) };
  const read = serverInput.safeParse({
    port: wholeNumber("port", options.port, 0, 65_535),
    models: [...files, ...folders].map((path) => resolve(path)),
    key: given === undefined ? (options.key === false ? "none" : "made") : { given },
    ...(options.host === undefined ? {} : { host: options.host }),
    ...(options.device === undefined ? {} : { device: options.device }),
    ...number("context", options.context),
    ...number("threads", options.threads),
    cacheType: cacheTypeGiven(options.cacheType),
    ...(options.memory === undefined ? {} : { memoryBytes: wholeNumber("memory", options.memory, 1) * GIGABYTE }),
    ...(options.maxWaiting === undefined
      ? {}
      : { mostWaiting: wholeNumber("max-waiting", options.maxWaiting, 0, 1000) }),
    keepTexts: options.logTexts === true,
  });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx serve] ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
}

export async function serveApi(
  files: readonly string[],
  options: ServeApiOptions,
  engineEntry: string,
  { apiKey, streams: { stdout, stderr } }: { readonly apiKey: string | null; readonly streams: Streams },
): Promise<{ close(): Promise<void> }> {
  const input = inputOf(files, options, apiKey);
  const engine = createEngineProcess({
    entry: engineEntry,
    onLost: (reason) => stderr.write(`The engine was lost: ${reason}. The next one takes its place.\n`),
  });
  const client = engineClient(engine);
  try {
    await deviceOption({ client }, input.device);
    const serving = await startApi({ ...input, client });
    serving.log.listen((request, beside) => {
      if (request.state === "done" || request.state === "left") stderr.write(`${requestLine(request, beside)}\n`);
    });
    const { running } = serving.status();
    const models = running?.models.map(({ id }) => id) ?? [];
    if (options.json === true)
      stdout.write(`${JSON.stringify({ url: running?.url, port: running?.port, key: running?.key, models })}\n`);
    else stdout.write(welcome(running?.url ?? "", running?.key ?? null, models));
    return {
      async close() {
        await serving.close();
        client.close();
        await engine.stop();
      },
    };
  } catch (error) {
    client.close();
    await engine.stop();
    throw error;
  }
}

const welcome = (url: string, key: string | null, models: readonly string[]): string =>
  [
    "Programs that speak OpenAI's API find RLX at",
    `  ${url}`,
    key === null ? "Without a key: every program on this machine may ask." : `Key: ${key}`,
    `${models.length === 1 ? "Model" : "Models"}: ${models.map(harmless).join(", ")}`,
    "End with Ctrl+C.",
    "",
  ].join("\n");
