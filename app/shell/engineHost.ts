/**
 * The engine's utility process: started with the first request for a port, restarted after it died.
 * Each window gets one end of a channel and the engine the other: frames bypass the main process.
 */
import type { UtilityProcess, WebContents } from "electron";
import { MessageChannelMain, utilityProcess } from "electron";
import { CHANNELS } from "../channels.ts";

export interface EngineHost {
  /** Gives the page a (new) port to the engine. */
  connect(page: WebContents): void;
  stop(): void;
}

export function createEngineHost(entry: string, log: (line: string) => void): EngineHost {
  let engine: UtilityProcess | undefined;
  let stopping = false;
  const pages = new Set<WebContents>();

  const started = (): UtilityProcess => {
    if (engine) return engine;
    const next = utilityProcess.fork(entry, [], { serviceName: "Workbench engine", stdio: "inherit" });
    next.on("exit", (code) => {
      if (engine !== next) return;
      engine = undefined;
      if (stopping) return;
      log(`the engine ended with code ${code}`);
      for (const page of pages) if (!page.isDestroyed()) page.send(CHANNELS.engineLost);
    });
    engine = next;
    return next;
  };

  return {
    connect(page) {
      if (page.isDestroyed()) return;
      if (!pages.has(page)) {
        pages.add(page);
        page.once("destroyed", () => pages.delete(page));
      }
      const { port1, port2 } = new MessageChannelMain();
      started().postMessage({ t: "window" }, [port1]);
      page.postMessage(CHANNELS.port, null, [port2]);
    },
    stop() {
      stopping = true;
      engine?.kill();
      engine = undefined;
    },
  };
}
