/**
 * The start of a window's memory: which session it goes on with, when that is saved, and what its address asks for. The session
 * of a tab is noted in the tab's memory, which a reload keeps; in Electron the shell names it in the page's address.
 */
import { sessionId } from "../../main/contract/views/session.ts";
import type { Address } from "../session/address.ts";
import { sourceAt } from "../session/address.ts";
import { holdSession } from "../session/holdSession.ts";
import { newSessionId } from "../session/memory.ts";
import { bindAddress, showView } from "./address.ts";
import type { WorkbenchStore } from "./store.ts";

const STORED_SESSION = "rlx.session";
const STORED_LEFT = "rlx.session.left";
const SESSION_PARAMETER = "session";

const named = (): string | null =>
  sessionStorage.getItem(STORED_SESSION) ?? new URLSearchParams(location.search).get(SESSION_PARAMETER);

/** For a reload; and for the shell, which opens the window again after a restart. */
function noteSession(session: string, inShell: boolean): void {
  sessionStorage.setItem(STORED_SESSION, session);
  if (!inShell) return;
  const url = new URL(location.href);
  if (url.searchParams.get(SESSION_PARAMETER) === session) return;
  url.searchParams.set(SESSION_PARAMETER, session);
  history.replaceState(history.state, "", url);
}

/** A socket may lose what a page sends while it is left; the tab's memory does not. */
function noteLeft(text: string | null): void {
  if (text === null) return;
  try {
    sessionStorage.setItem(STORED_LEFT, text);
  } catch {
    // Larger than the tab's memory: only what went over the socket is there again.
  }
}

/** Once: from then on the session itself is newer. */
function takeLeft(): string | null {
  const text = sessionStorage.getItem(STORED_LEFT);
  sessionStorage.removeItem(STORED_LEFT);
  return text;
}

const connected = (store: WorkbenchStore): Promise<void> =>
  new Promise((resolve) => {
    if (store.getState().connection === "connected") return resolve();
    const stop = store.subscribe(({ connection }) => {
      if (connection !== "connected") return;
      stop();
      resolve();
    });
  });

export async function startMemory(store: WorkbenchStore, address: Address, inShell: boolean): Promise<void> {
  const get = store.getState;
  const before = sessionId.safeParse(named());
  const leftText = takeLeft();
  if (before.success || address.open !== null) get().expectSession();
  const session = before.success && (await holdSession(before.data)) ? before.data : newSessionId();
  if (session !== before.data) void holdSession(session);
  store.subscribe((state, last) => {
    if (state.sessionId !== null && state.sessionId !== last.sessionId) noteSession(state.sessionId, inShell);
  });
  const saveNow = (): void => void get().saveSession();
  addEventListener("pagehide", () => {
    noteLeft(get().unsavedText());
    saveNow();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") saveNow();
  });
  await connected(store);
  await get().beginSession(session, {
    opens: address.open === null ? null : sourceAt(address.open),
    from: before.data ?? session,
    leftText,
  });
  showView(store, address);
  bindAddress(store);
}
