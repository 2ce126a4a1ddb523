/**
 * The HTTP server for other programs, in the form of OpenAI's API (docs/server.md). It knows the engine by its contract only.
 * Requests come from strangers: every one is checked (guard.ts), bounded (requestBody.ts, turns.ts) and ends with a status.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { EngineClient } from "../../contract/contract.ts";
import type { ServerInput, ServerStatus } from "../../contract/views/server.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { AnswerParts } from "./answers.ts";
import { ApiError, apiErrorOf } from "./apiErrors.ts";
import { chatCompletions } from "./chatCompletions.ts";
import { embeddings } from "./embeddings.ts";
import type { Endpoint } from "./exchange.ts";
import { replyWith } from "./exchange.ts";
import { checkDevice } from "./deviceCheck.ts";
import { createGuard, keyOf, urlOf } from "./guard.ts";
import { offeredModels } from "./modelPaths.ts";
import type { BodyLimits } from "./requestBody.ts";
import { readBody } from "./requestBody.ts";
import type { LogEntry, RequestLog } from "./requestLog.ts";
import { createRequestLog } from "./requestLog.ts";
import { responses } from "./responses.ts";
import type { Shelf } from "./shelf.ts";
import { createShelf } from "./shelf.ts";
import { textCompletions } from "./textCompletions.ts";
import { createTurns } from "./turns.ts";

export type ApiOptions = ServerInput & {
  readonly client: EngineClient;
  /** Answers of one model at a time. */
  readonly atOnce?: number;
  readonly limits?: Partial<ApiLimits>;
};

export interface ApiServing {
  status(): ServerStatus;
  readonly log: RequestLog;
  /** When something other than a request has changed. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

export interface ApiLimits extends BodyLimits {
  /** Until a request's head is whole. */
  readonly headSeconds: number;
  readonly connections: number;
}

/** A conversation of a million words fits. The engine's own limit of a message is higher. */
const LIMITS: ApiLimits = {
  ...{ bytes: 6 << 20, seconds: 30, depth: 64, values: 50_000 },
  ...{ headSeconds: 10, connections: 256 },
};
/** A prompt may be tokens, each a value. */
const TOKEN_VALUES = 1 << 18;

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  "/v1/chat/completions": chatCompletions,
  "/v1/completions": textCompletions,
  "/v1/embeddings": embeddings,
  "/v1/responses": responses,
};
const MODELS = "/v1/models";
const HEALTH = "/health";

/** Answers of one model at a time. The engine joins their steps, or lets some wait where their caches do not fit. */
const AT_ONCE = 8;
/** How long the end of the server waits for what its end has cut short. */
const ENDING_MS = 1000;
const LINGER_MS = 500;
const CHECK_EVERY_MS = 2000;

export async function startApi(options: ApiOptions): Promise<ApiServing> {
  const { client, host, device, context, threads, memoryBytes, mostWaiting, keepTexts, atOnce = AT_ONCE } = options;
  const limits = { ...LIMITS, ...options.limits };
  const key = keyOf(options);
  const offered = await offeredModels(options.models);
  await checkDevice(client, options);
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const log = createRequestLog(keepTexts);
  const turns = createTurns(atOnce, mostWaiting);
  const shelf = createShelf({ client, offered, memoryBytes, onChange: changed });
  const answers: AnswerParts = { client, turns, device, context, threads, cacheType: options.cacheType };
  const guard = createGuard(host, key);
  const ending = new AbortController();
  const running = new Set<Promise<void>>();

  const timeouts = { headersTimeout: limits.headSeconds * 1000, connectionsCheckingInterval: CHECK_EVERY_MS };
  // Bodies have a time of their own (requestBody.ts).
  const http = createServer({ requestTimeout: 0, ...timeouts }, (request, response) => {
    const work = handle(request, response);
    running.add(work);
    void work.finally(() => running.delete(work));
  });
  http.maxConnections = limits.connections;

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const left = new AbortController();
    const path = pathOf(request.url);
    const entry = log.begin(shortened(request.method ?? ""), shortened(path ?? "?"));
    response.on("close", () => left.abort());
    response.on("error", () => response.destroy());
    const signal = AbortSignal.any([left.signal, ending.signal]);
    try {
      await answerRequest(request, response, { path, entry, signal });
    } catch (error) {
      answerError(request, response, entry, error);
    } finally {
      const isLeft = left.signal.aborted && !response.writableFinished;
      entry.update({
        state: isLeft ? "left" : "done",
        status: response.headersSent ? response.statusCode : null,
        ...(isLeft && entry.request().error === null
          ? { error: { code: "CLIENT_LEFT", sentence: "The client left before the end of the answer." } }
          : {}),
      });
      changed();
    }
  };

  const answerRequest = async (
    request: IncomingMessage,
    response: ServerResponse,
    {
      path,
      entry,
      signal,
    }: { readonly path: string | undefined; readonly entry: LogEntry; readonly signal: AbortSignal },
  ): Promise<void> => {
    guard.check(request.headers, portOf(http), path === HEALTH);
    if (path === undefined) throw new ApiError(400, "The address of the request cannot be read.");
    const endpoint = Object.hasOwn(ENDPOINTS, path) ? ENDPOINTS[path] : undefined;
    if (endpoint === undefined) {
      const value = path === HEALTH ? { status: "ok" } : modelsAt(path, shelf);
      if (value === undefined)
        throw new ApiError(404, `There is nothing at ${shortened(path)}.`, { code: "not_found" });
      if (request.method !== "GET") throw wrongMethod(request.method, "GET");
      replyWith(response, 200, value);
      return;
    }
    if (request.method !== "POST") throw wrongMethod(request.method, "POST");
    const values = path === "/v1/completions" ? TOKEN_VALUES : limits.values;
    const body = await readBody(request, { ...limits, values });
    await endpoint({ body, response, signal, entry, shelf, answers });
  };

  await listen(http, host, options.port);
  try {
    await openOnly(shelf);
  } catch (error) {
    http.close();
    throw error;
  }
  const port = portOf(http);
  const offState = client.onState((state) => {
    if (state === "lost") shelf.forget();
  });
  return {
    log,
    status: () => ({
      running: {
        ...{ url: `${urlOf(host, port)}/v1`, host, port, key, device, context, keepsTexts: keepTexts },
        models: [...shelf.list()],
        ...turns.counts(),
        served: log.served(),
      },
    }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      ending.abort();
      offState();
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      const late = new Promise<void>((resolve) => setTimeout(resolve, ENDING_MS).unref());
      await Promise.race([Promise.allSettled([...running]), late]);
      http.closeAllConnections();
      await closed;
      await shelf.close();
    },
  };
}

/** The only model is opened at the start: the first request finds it, and a file that is none fails here. */
async function openOnly(shelf: Shelf): Promise<void> {
  const [only] = shelf.offered;
  if (shelf.offered.length === 1 && only !== undefined) (await shelf.take(only)).release();
}

function answerError(request: IncomingMessage, response: ServerResponse, entry: LogEntry, error: unknown): void {
  const known = apiErrorOf(error);
  entry.update({ error: { code: known.code ?? "", sentence: known.message } });
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // What is left of the body is not read: the connection ends with the answer.
  const isRead = request.complete;
  replyWith(response, known.status, known.body, { ...known.headers, ...(isRead ? {} : { connection: "close" }) });
  if (!isRead) letGo(request);
}

/** What still comes is dropped for a moment: a connection that ends at once takes the answer with it. */
function letGo(request: IncomingMessage): void {
  request.resume();
  setTimeout(() => request.destroy(), LINGER_MS).unref();
}

const wrongMethod = (got: string | undefined, expected: string): ApiError =>
  new ApiError(405, `got ${got ?? ""}, expected ${expected}`, {
    code: "method_not_allowed",
    headers: { allow: expected },
  });

/** The list, or one of its models by name; undefined for another path. */
function modelsAt(path: string, shelf: Shelf): object | undefined {
  const states = new Map(shelf.list().map(({ id, state }) => [id, state]));
  const data = shelf.offered.map(({ id, changed, bytes }) => ({
    ...{ id, object: "model", created: changed, owned_by: "rlx" },
    ...{ bytes, loaded: states.get(id) === "open" },
  }));
  if (path === MODELS) return { object: "list", data };
  if (!path.startsWith(`${MODELS}/`)) return undefined;
  const name = decoded(path.slice(MODELS.length + 1));
  const found = data.find(({ id }) => id === name);
  if (found !== undefined) return found;
  throw new ApiError(404, `model: got ${JSON.stringify(shortened(name))}, which is not here`, {
    param: "model",
    code: "model_not_found",
  });
}

function pathOf(url = "/"): string | undefined {
  try {
    const { pathname } = new URL(url, "http://127.0.0.1");
    return pathname.length > 1 ? pathname.replace(/\/$/u, "") : pathname;
  } catch {
    return undefined;
  }
}

/** A name that is not encoded well is the name of nothing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

function portOf(http: Server): number {
  const address = http.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function listen(http: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once("error", (error: NodeJS.ErrnoException) => {
      const taken = error.code === "EADDRINUSE";
      reject(
        new WorkbenchError(
          "ENV_IO",
          `[server] cannot listen on ${urlOf(host, port)}: ${taken ? "the port is taken" : error.message}`,
          {
            hint: taken ? "Choose another port, or 0 for a free one." : "Choose an address of this machine.",
            cause: error,
          },
        ),
      );
    });
    http.listen(port, host, resolve);
  });
}
