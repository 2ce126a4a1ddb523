/**
 * The engine's end in Electron's utility process: the shell sends one MessagePort per window. Described structurally, because
 * nothing outside app/ may import Electron.
 */
import { createInbox } from "../../contract/port.ts";
import type { Connectable } from "../../engine/connection.ts";

interface ShellPort {
  postMessage(message: unknown): void;
  on(event: "message", listener: (event: { readonly data: unknown }) => void): unknown;
  on(event: "close", listener: () => void): unknown;
  start(): void;
  close(): void;
}

interface ParentPort {
  on(
    event: "message",
    listener: (event: { readonly data: unknown; readonly ports: readonly ShellPort[] }) => void,
  ): unknown;
  postMessage(message: unknown): void;
}

const parentPortOf = (host: object): ParentPort | undefined =>
  "parentPort" in host ? ((host.parentPort as ParentPort | null) ?? undefined) : undefined;

/** `host` is the process; false when it is not a utility process. */
export function serveParentPort(engine: Connectable, host: object): boolean {
  const parent = parentPortOf(host);
  if (!parent) return false;
  parent.on("message", (event) => {
    for (const port of event.ports) connectPort(engine, port);
  });
  parent.postMessage({ t: "ready" });
  return true;
}

function connectPort(engine: Connectable, port: ShellPort): void {
  const inbox = createInbox();
  port.on("message", (event) => inbox.receive(event.data));
  port.on("close", () => inbox.end("the window closed the connection"));
  engine.connect({
    send: (frame) => {
      if (!inbox.ended()) port.postMessage(frame);
    },
    onMessage: inbox.onMessage,
    onClose: inbox.onClose,
    close: (reason) => {
      inbox.end(reason);
      port.close();
    },
  });
  port.start();
}
