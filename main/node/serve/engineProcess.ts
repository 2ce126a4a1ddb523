/**
 * The supervisor's engine: one child process, started at the first request or earlier, restarted when
 * it dies. Sockets get ENGINE_LOST, and the window connects again.
 */
import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import type { FromEngine, ToEngine } from "./messages.ts";
import { isFromEngine } from "./messages.ts";

export interface SocketEnd {
  readonly frame: (bytes: Uint8Array) => void;
  /** `lost`: the engine died. Otherwise the engine ended this connection for this reason. */
  readonly close: (reason: string, lost: boolean) => void;
}

export interface EngineProcess {
  /** Starts the engine ahead of the first request. */
  start(): void;
  /** Connects a socket. Returns how to send a frame to the engine, and how to leave. */
  connect(end: SocketEnd): { readonly send: (bytes: Uint8Array) => void; readonly leave: () => void };
  readonly pid: () => number | undefined;
  /** Resolves when the process has tidied up and ended. */
  stop(): Promise<void>;
}

export interface EngineProcessOptions {
  readonly entry: string;
  readonly execArgv?: readonly string[];
  readonly onLost?: (reason: string) => void;
}

/** Longer than an engine gives itself. */
const KILL_AFTER_MS = 4000;

async function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill();
  const late = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
  await exit;
  clearTimeout(late);
}

export function createEngineProcess(options: EngineProcessOptions): EngineProcess {
  const ends = new Map<number, SocketEnd>();
  let child: ChildProcess | undefined;
  let stopping = false;
  let nextSocket = 1;

  const receive = (message: unknown): void => {
    if (!isFromEngine(message)) return;
    const known: FromEngine = message;
    if (known.t === "frame") ends.get(known.socket)?.frame(known.bytes);
    else if (known.t === "close") {
      ends.get(known.socket)?.close(known.reason, false);
      ends.delete(known.socket);
    }
  };

  const lose = (dead: ChildProcess, reason: string, by: NodeJS.Signals | null = null): void => {
    if (child !== dead) return;
    child = undefined;
    const left = [...ends.values()];
    ends.clear();
    for (const end of left) end.close(reason, true);
    // ^C reaches both processes, and an engine that still loads ends at once: that is no loss.
    if (!stopping && by !== "SIGINT") options.onLost?.(reason);
  };

  /** None once `stop` was called: a new one would outlive it. */
  const started = (): ChildProcess | undefined => {
    if (child || stopping) return child;
    const next = fork(options.entry, [], {
      serialization: "advanced",
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      execArgv: [...(options.execArgv ?? [])],
    });
    next.on("message", receive);
    next.on("error", (error) => lose(next, error.message));
    next.on("exit", (code, signal) =>
      lose(next, signal ? `the engine was ended by ${signal}` : `the engine ended with code ${code ?? "?"}`, signal),
    );
    child = next;
    return next;
  };

  const post = (message: ToEngine): void => {
    const engine = started();
    if (engine?.connected === true) engine.send(message);
  };

  return {
    start: () => void started(),
    connect(end) {
      if (stopping) {
        queueMicrotask(() => end.close("the server is stopping", true));
        return { send: () => undefined, leave: () => undefined };
      }
      const socket = nextSocket++;
      ends.set(socket, end);
      post({ t: "open", socket });
      return {
        send: (bytes) => {
          if (ends.has(socket)) post({ t: "frame", socket, bytes });
        },
        leave: () => {
          if (ends.delete(socket) && child) post({ t: "close", socket });
        },
      };
    },
    pid: () => child?.pid,
    async stop() {
      stopping = true;
      const last = child;
      child = undefined;
      if (last) await ended(last);
    },
  };
}
