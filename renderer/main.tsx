/** Entry of the window: theme, transport, store, first render. In Electron the shell's port is used, in a browser a WebSocket. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { SETTINGS_PARAMETER } from "../main/contract/shell.ts";
import { invariant } from "../main/diagnostics/errors.ts";
import "./tokens.css";
import "./base.css";
import type { Client } from "./engine/connect.ts";
import { connectShell, connectWebSocket, findShell } from "./engine/connect.ts";
import { takeStartParameters } from "./engine/startUrl.ts";
import { App } from "./shell/App.tsx";
import { SettingsWindow } from "./shell/SettingsWindow.tsx";
import { NoToken } from "./shell/NoToken.tsx";
import { startMemory } from "./shell/startMemory.ts";
import { createWorkbenchStore } from "./shell/store.ts";
import { applyTheme, storedTheme, watchSystemTheme } from "./ui/theme.ts";

// Without this zod tries `new Function`, which our content policy forbids.
z.config({ jitless: true });
applyTheme(storedTheme());
watchSystemTheme();

const container = document.getElementById("root");
invariant(container, "the page has no #root");
const root = createRoot(container);

/** Development only: the bundler drops this branch and the recorded answers with it. */
async function recordedClient(): Promise<Client | null> {
  if (!new URLSearchParams(location.search).has("recorded")) return null;
  const { createRecordedEngine } = await import("./engine/recorded/replay.ts");
  const recorded = createRecordedEngine();
  Object.assign(globalThis, { crashEngine: () => recorded.crash() });
  return recorded.client;
}

async function start(): Promise<void> {
  const shell = findShell();
  const { token, address } = await takeStartParameters();
  const recorded = import.meta.env.DEV ? await recordedClient() : null;
  const client =
    recorded ??
    (shell !== null ? connectShell(shell) : token !== null ? connectWebSocket(new URL(location.href), token) : null);
  if (client === null) {
    root.render(<NoToken />);
    return;
  }
  const store = createWorkbenchStore(client, shell);
  if (shell !== null && new URLSearchParams(location.search).has(SETTINGS_PARAMETER)) {
    root.render(
      <StrictMode>
        <SettingsWindow store={store} />
      </StrictMode>,
    );
    return;
  }
  void startMemory(store, address, shell !== null);
  root.render(
    <StrictMode>
      <App store={store} shell={shell} />
    </StrictMode>,
  );
}

void start();
