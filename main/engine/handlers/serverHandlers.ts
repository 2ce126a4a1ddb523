/** The HTTP server for other programs: one for each engine, which goes on when the window that started it goes. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { ServerItem, ServerRequest, ServerStatus } from "../../contract/views/server.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Connectable } from "../connection.ts";
import type { ApiHost, ApiServing } from "../services.ts";

export interface ServerHandlers {
  readonly calls: Pick<EngineHandlers["calls"], "server.start" | "server.stop">;
  readonly streams: Pick<EngineHandlers["streams"], "server.watch">;
  dispose(): Promise<void>;
}

interface Watcher {
  readonly status: () => void;
  readonly request: (request: ServerRequest) => void;
}

export function serverHandlers(host: ApiHost, engine: () => Connectable): ServerHandlers {
  const watchers = new Set<Watcher>();
  let serving: ApiServing | undefined;
  let isStarting = false;
  const statusOf = (): ServerStatus => serving?.status() ?? { running: null };
  const tell = (): void => {
    for (const watcher of [...watchers]) watcher.status();
  };
  const stop = async (): Promise<void> => {
    const last = serving;
    serving = undefined;
    await last?.close();
    tell();
  };

  return {
    calls: {
      async "server.start"(input) {
        if (serving !== undefined || isStarting)
          throw new WorkbenchError("HANDLE_BUSY", "[server] it is running already", { hint: "Stop it first." });
        isStarting = true;
        try {
          serving = await host.start(input, engine());
        } finally {
          isStarting = false;
        }
        serving.onChange(tell);
        serving.log.listen((request) => {
          for (const watcher of [...watchers]) watcher.request(request);
        });
        tell();
        return statusOf();
      },
      async "server.stop"() {
        await stop();
        return statusOf();
      },
    },
    streams: {
      async *"server.watch"(_input, { signal }): AsyncGenerator<ServerItem> {
        let wake = (): void => undefined;
        let isNews = true;
        const news = new Map((serving?.log.last() ?? []).map((request) => [request.id, request]));
        const watcher: Watcher = {
          status: () => {
            isNews = true;
            wake();
          },
          request: (request) => {
            news.set(request.id, request);
            wake();
          },
        };
        const onAbort = (): void => wake();
        watchers.add(watcher);
        signal.addEventListener("abort", onAbort);
        try {
          while (!signal.aborted) {
            if (isNews) {
              isNews = false;
              yield { kind: "status", status: statusOf() };
            }
            // A request that moved several times meanwhile is told once.
            const requests = [...news.values()];
            news.clear();
            for (const request of requests) yield { kind: "request", request };
            if (!isNews && news.size === 0 && !isAborted(signal))
              await new Promise<void>((resolve) => (wake = resolve));
          }
        } finally {
          signal.removeEventListener("abort", onAbort);
          watchers.delete(watcher);
        }
      },
    },
    dispose: stop,
  };
}

/** It may have fired while an item was taken. */
const isAborted = (signal: AbortSignal): boolean => signal.aborted;
