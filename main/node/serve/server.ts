/**
 * `rlx serve`: the workbench in a browser. A small supervisor that serves files and sockets on loopback and forks the engine.
 * Who may talk to the engine: a page of our own origin that has the token. The token never stands in a request line.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import { createServer } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import { REQUEST_LIMITS } from "../../contract/codec.ts";
import {
  CLOSE_CODES,
  OPEN_FRAGMENT_KEY,
  SOCKET_PATH,
  SOCKET_PROTOCOL,
  TOKEN_FRAGMENT_KEY,
  TOKEN_PROTOCOL_PREFIX,
} from "../../contract/transport.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { EngineProcess } from "./engineProcess.ts";
import { createEngineProcess } from "./engineProcess.ts";
import { SECURITY_HEADERS, serveStatic } from "./staticFiles.ts";

export interface ServeOptions {
  /** 0: any free port. */
  readonly port: number;
  readonly rendererFolder: string;
  readonly engineEntry: string;
  readonly execArgv?: readonly string[];
  readonly onLost?: (reason: string) => void;
}

export interface Serving {
  readonly port: number;
  readonly token: string;
  /** The address to open, with the token in its fragment. */
  url(open?: string): string;
  readonly engine: EngineProcess;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
/** Frames that wait for a slow browser before its socket is ended. */
const MAX_BUFFERED = 512 << 20;

export async function startServer(options: ServeOptions): Promise<Serving> {
  const token = randomBytes(24).toString("base64url");
  const engine = createEngineProcess({
    entry: options.engineEntry,
    ...(options.execArgv ? { execArgv: options.execArgv } : {}),
    ...(options.onLost ? { onLost: options.onLost } : {}),
  });
  const http = createServer((request, response) => {
    if (!isOurHost(request, portOf(http)) || (request.method !== "GET" && request.method !== "HEAD")) {
      response.writeHead(request.method === "GET" || request.method === "HEAD" ? 421 : 405, SECURITY_HEADERS);
      response.end();
      return;
    }
    const path = pathOf(request.url);
    if (path === undefined) {
      response.writeHead(400, SECURITY_HEADERS);
      response.end();
      return;
    }
    serveStatic(options.rendererFolder, path, request.method === "HEAD", response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: REQUEST_LIMITS.maxBytes,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(SOCKET_PROTOCOL) ? SOCKET_PROTOCOL : false),
  });
  http.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    const refusal = refuse(request, portOf(http), token);
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => relay(webSocket, engine));
  });
  await listen(http, options.port);
  const port = portOf(http);
  return {
    port,
    token,
    engine,
    url: (open) =>
      `http://${HOST}:${port}/#${TOKEN_FRAGMENT_KEY}=${token}${open === undefined ? "" : `&${OPEN_FRAGMENT_KEY}=${encodeURIComponent(open)}`}`,
    async close() {
      const stopped = engine.stop();
      for (const client of sockets.clients) client.terminate();
      await new Promise<void>((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      });
      await stopped;
    },
  };
}

function listen(http: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once("error", (error: NodeJS.ErrnoException) => {
      const taken = error.code === "EADDRINUSE";
      reject(
        new WorkbenchError(
          "ENV_IO",
          `[serve] cannot listen on ${HOST}:${port}: ${taken ? "the port is taken" : error.message}`,
          {
            hint: taken
              ? "Choose another with --port, or leave it out for a free one."
              : "Check that loopback is usable.",
            cause: error,
          },
        ),
      );
    });
    http.listen(port, HOST, resolve);
  });
}

function portOf(http: Server): number {
  const address = http.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** The path of a request line; undefined where it is none, like that of `GET //`. */
function pathOf(url = "/"): string | undefined {
  try {
    return new URL(url, `http://${HOST}`).pathname;
  } catch {
    return undefined;
  }
}

/** A page on another name that resolves to loopback (DNS rebinding) shows itself by its Host header. */
const isOurHost = (request: IncomingMessage, port: number): boolean =>
  request.headers.host === `${HOST}:${port}` || request.headers.host === `localhost:${port}`;

/** Why a socket is refused, as a status line, or undefined. */
export function refuse(
  request: Pick<IncomingMessage, "headers" | "url">,
  port: number,
  token: string,
): string | undefined {
  const path = pathOf(request.url);
  if (path === undefined) return "400 Bad Request";
  if (path !== SOCKET_PATH) return "404 Not Found";
  const host = request.headers.host;
  if (host !== `${HOST}:${port}` && host !== `localhost:${port}`) return "421 Misdirected Request";
  if (request.headers.origin !== `http://${host}`) return "403 Forbidden";
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((part) => part.trim());
  if (!offered.includes(SOCKET_PROTOCOL)) return "400 Bad Request";
  const given =
    offered.find((part) => part.startsWith(TOKEN_PROTOCOL_PREFIX))?.slice(TOKEN_PROTOCOL_PREFIX.length) ?? "";
  return sameSecret(given, token) ? undefined : "401 Unauthorized";
}

function sameSecret(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}

/** WebSocket close reasons hold at most 123 bytes. */
const closeReason = (text: string): string =>
  Buffer.from(text)
    .subarray(0, 120)
    .toString("utf8")
    .replace(/\uFFFD$/, "");

function relay(socket: WebSocket, engine: EngineProcess): void {
  const connection = engine.connect({
    frame: (bytes) => {
      if (socket.bufferedAmount > MAX_BUFFERED) socket.terminate();
      else socket.send(bytes);
    },
    close: (reason, lost) => socket.close(lost ? CLOSE_CODES.engineLost : CLOSE_CODES.badFrame, closeReason(reason)),
  });
  socket.on("message", (data, isBinary) => {
    if (!isBinary) socket.close(CLOSE_CODES.badFrame, "text frames are not part of the protocol");
    else if (data instanceof Buffer) connection.send(data);
    else socket.close(CLOSE_CODES.badFrame, "fragmented frame");
  });
  socket.on("close", connection.leave);
  // A protocol error (bad UTF-8, oversized frame) also closes; ws has done so already.
  socket.on("error", connection.leave);
}
