/** Entry of the window: theme, transport, store, first render. In Electron the shell's port is used, in a browser a WebSocket. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { z } from "zod";
import { invariant } from "../main/diagnostics/errors.ts";
import "./tokens.css";
import "./base.css";
import type { Client } from "./engine/connect.ts";
import { connectShell, connectWebSocket, findShell } from "./engine/connect.ts";
import { takeStartParameters } from "./engine/startUrl.ts";
import { App } from "./shell/App.tsx";
import { NoToken } from "./shell/NoToken.tsx";
import { createWorkbenchStore } from "./shell/store.ts";
import { applyTheme, storedTheme, watchSystemTheme } from "./ui/theme.ts";

// Without this zod tries `new Function`, which our content policy forbids.
z.config({ jitless: true });
applyTheme(storedTheme());
watchSystemTheme();

const container = document.getElementById("root");
invariant(container, "the page has no #root");
const root = createRoot(container);

/** Development only: the bundler drops this branch and the scripted engine with it. */
async function developmentClient(): Promise<Client | null> {
  const parameters = new URLSearchParams(location.search);
  if (!parameters.has("fake")) return null;
  const { createFakeEngine } = await import("./engine/fake/fakeEngine.ts");
  const fake = createFakeEngine({ layers: Number(parameters.get("layers") ?? 28) });
  Object.assign(globalThis, { crashEngine: () => fake.crash() });
  return fake.client;
}

async function start(): Promise<void> {
  const shell = findShell();
  const { token, open } = await takeStartParameters();
  const fake = import.meta.env.DEV ? await developmentClient() : null;
  const client =
    fake ??
    (shell !== null ? connectShell(shell) : token !== null ? connectWebSocket(new URL(location.href), token) : null);
  if (client === null) {
    root.render(<NoToken />);
    return;
  }
  const store = createWorkbenchStore(client, shell);
  if (open !== null)
    void store
      .getState()
      .open(open.startsWith("offer:") ? { kind: "offer", id: open.slice(6) } : { kind: "path", path: open });
  root.render(
    <StrictMode>
      <App store={store} shell={shell} />
    </StrictMode>,
  );
}

void start();
