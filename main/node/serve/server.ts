/**
 * `rlx serve`: the workbench in a browser. A small supervisor serves files and sockets on loopback and
 * forks the engine. A page needs our own origin and the token, which it gets for a ticket
 * (tickets.ts).
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import { REQUEST_LIMITS } from "../../contract/codec.ts";
import {
  ADDRESS_PATH,
  CLOSE_CODES,
  OPEN_FRAGMENT_KEY,
  SESSION_PATH,
  SOCKET_PATH,
  SOCKET_PROTOCOL,
  TICKET_FRAGMENT_KEY,
  TOKEN_PROTOCOL_PREFIX,
} from "../../contract/transport.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { EngineProcess } from "./engineProcess.ts";
import { createEngineProcess } from "./engineProcess.ts";
import { SECURITY_HEADERS, serveStatic } from "./staticFiles.ts";
import { createTickets, newSecret, sameSecret } from "./tickets.ts";

export interface ServeOptions {
  /** 0 means any free port. */
  readonly port: number;
  readonly rendererFolder: string;
  readonly engineEntry: string;
  readonly execArgv?: readonly string[];
  readonly onLost?: (reason: string) => void;
  /** Called when a page has exchanged its ticket: its address is used up. */
  readonly onTicketUsed?: () => void;
}

export interface Serving {
  readonly port: number;
  readonly token: string;
  /** A new address for one page. Its fragment holds a ticket that works once. */
  url(open?: string): string;
  readonly engine: EngineProcess;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
/** Most bytes that wait for a browser. Beyond, its socket is closed: it reads too slowly. */
const MAX_BUFFERED = 64 << 20;

export async function startServer(options: ServeOptions): Promise<Serving> {
  const token = newSecret();
  const tickets = createTickets();
  const addressOf = (open?: string): string => {
    const opened = open === undefined ? "" : `&${OPEN_FRAGMENT_KEY}=${encodeURIComponent(open)}`;
    return `http://${HOST}:${portOf(http)}/#${TICKET_FRAGMENT_KEY}=${tickets.issue()}${opened}`;
  };
  const engine = createEngineProcess({
    entry: options.engineEntry,
    ...(options.execArgv ? { execArgv: options.execArgv } : {}),
    ...(options.onLost ? { onLost: options.onLost } : {}),
  });
  const http = createServer((request, response) => {
    const path = pathOf(request.url);
    const refusal = refuseRequest(request, portOf(http), path);
    if (refusal !== undefined || path === undefined) answer(response, refusal ?? 400);
    else if (request.method !== "POST")
      serveStatic(options.rendererFolder, path, request.method === "HEAD", response).catch(() => response.destroy());
    else if (path === SESSION_PATH)
      bodyOf(request).then(
        (ticket) => {
          if (!tickets.redeem(ticket)) return answer(response, 401);
          answer(response, 200, token);
          options.onTicketUsed?.();
        },
        () => response.destroy(),
      );
    else if (sameSecret(request.headers.authorization ?? "", `Bearer ${token}`)) answer(response, 200, addressOf());
    else answer(response, 401);
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
    url: addressOf,
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

/** The path of a request line; undefined for an invalid one, such as `GET //`. */
function pathOf(url = "/"): string | undefined {
  try {
    return new URL(url, `http://${HOST}`).pathname;
  } catch {
    return undefined;
  }
}

/** Checks the Host header against DNS rebinding: another name that resolves to loopback. */
const isOurHost = (request: IncomingMessage, port: number): boolean =>
  request.headers.host === `${HOST}:${port}` || request.headers.host === `localhost:${port}`;

/** The status of a refused HTTP request, or undefined. */
function refuseRequest(request: IncomingMessage, port: number, path: string | undefined): number | undefined {
  if (!isOurHost(request, port)) return 421;
  if (path === undefined) return 400;
  if (request.method === "GET" || request.method === "HEAD") return undefined;
  if (request.method !== "POST" || (path !== SESSION_PATH && path !== ADDRESS_PATH)) return 405;
  // A page sends its origin. A program that asks for an address has the token.
  const ours = `http://${request.headers.host ?? ""}`;
  return path === ADDRESS_PATH || request.headers.origin === ours ? undefined : 403;
}

function answer(response: ServerResponse, status: number, text?: string): void {
  const type = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
  response.writeHead(status, { ...SECURITY_HEADERS, ...(text === undefined ? {} : type) });
  response.end(text);
}

/** Most bytes of a ticket that are read. */
const LONGEST_BODY = 128;

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of request.setEncoding("latin1")) {
    text += String(piece);
    if (text.length > LONGEST_BODY) throw new WorkbenchError("CONTRACT_FRAME", "[serve] the ticket is too long");
  }
  return text;
}

/** The status line of a refused socket, or undefined. */
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
