/**
 * Connects the window to its engine and keeps it connected: over the preload's port in Electron, over a WebSocket in a
 * browser. After a loss it tries again by itself, first at once, then at growing intervals.
 */
import type { AttachableClient } from "../../main/contract/client.ts";
import { createClient } from "../../main/contract/client.ts";
import type { Contract } from "../../main/contract/contract.ts";
import { contract } from "../../main/contract/contract.ts";
import type { ShellBridge } from "../../main/contract/shell.ts";
import { PORT_MESSAGE } from "../../main/contract/shell.ts";
import { messagePortPort } from "./messagePort.ts";
import { webSocketPort, webSocketUrl } from "./webSocket.ts";

export type Client = AttachableClient<Contract>;

/** Milliseconds to wait before the n-th try after a loss. */
export function retryDelay(tries: number): number {
  return Math.min(100 * 2 ** Math.max(0, tries - 1), 3000);
}

/** Calls `tryAgain` after each loss, with growing delays, until it is connected. */
function keepConnected(client: Client, tryAgain: () => void): void {
  let tries = 0;
  client.onState((state) => {
    if (state === "connected") tries = 0;
    if (state !== "lost") return;
    tries += 1;
    setTimeout(tryAgain, retryDelay(tries));
  });
}

export function connectWebSocket(page: URL, token: string): Client {
  const client = createClient(contract);
  const open = (): void => client.attach(webSocketPort(webSocketUrl(page), token));
  keepConnected(client, open);
  open();
  return client;
}

export function connectShell(shell: ShellBridge): Client {
  const client = createClient(contract);
  const lostListeners = new Set<() => void>();
  addEventListener("message", (message) => {
    if (message.source !== window) return;
    if (message.data === PORT_MESSAGE && message.ports[0] !== undefined)
      client.attach(
        messagePortPort(message.ports[0], (listener) => {
          lostListeners.add(listener);
          return () => lostListeners.delete(listener);
        }),
      );
    else if (message.data === `${PORT_MESSAGE}:lost`) for (const listener of [...lostListeners]) listener();
  });
  keepConnected(client, () => shell.requestPort());
  shell.requestPort();
  return client;
}

/** The bridge of Electron's preload, if this page runs there. The only place that looks at `window.workbench`. */
export function findShell(): ShellBridge | null {
  const bridge = (globalThis as { readonly workbench?: ShellBridge }).workbench;
  return bridge ?? null;
}
