/**
 * The memory of a window: its session document is saved on its own and restored at start. What is about a model is kept for each,
 * by the identity of its file, and is there again when the model is opened again.
 */
import { VERSION } from "../../main/contract/version.ts";
import type { Overview } from "../../main/contract/views/model.ts";
import type { SessionDocument, SessionModel, SessionRow, SessionSource } from "../../main/contract/views/session.ts";
import {
  fileName,
  identityOf,
  LARGEST_DOCUMENT,
  LARGEST_KEPT_TEXT,
  readDocument,
  withoutPaths,
} from "../../main/contract/views/session.ts";
import type { Json } from "../../main/diagnostics/errors.ts";
import { toWireError } from "../../main/diagnostics/errors.ts";
import { titleOf } from "./openSource.ts";
import type { Async } from "./async.ts";
import { current, failed, IDLE, loading, ready } from "./async.ts";
import type { DocumentPart } from "./document.ts";
import { openOf } from "./address.ts";
import { textOf } from "./droppedFile.ts";
import { holdSession } from "./holdSession.ts";
import { fittedText } from "./sessionText.ts";
import type { SliceTools } from "./slice.ts";
import type { OpenSource } from "./types.ts";
import type { SessionState } from "./sessionSlice.ts";

export interface MemorySlice {
  /** The id of the session that this window saves; null: nothing is saved. */
  readonly sessionId: string | null;
  /** When it was saved last; null before that. */
  readonly sessionSavedAt: number | null;
  /** One is about to be restored: the first screen would only flash. */
  readonly sessionExpected: boolean;
  readonly expectSession: () => void;
  /** Sessions that are kept, newest first. */
  readonly sessions: Async<readonly SessionRow[]>;
  readonly loadSessions: () => Promise<void>;
  readonly removeSession: (session: string) => Promise<void>;
  /** Begins to save under this id, with what is kept under it. Done when all is restored. */
  readonly beginSession: (session: string, options?: BeginOptions) => Promise<void>;
  /** Goes on with a session that is kept; with a copy of it where another window has it. */
  readonly continueSession: (session: string) => Promise<void>;
  /** The model of the session that is not open, and why; null: none is missing. */
  readonly missing: MissingModel | null;
  /** Looks for it on the engine's machine, in a folder or where models are known to lie, and opens it. Says what came of it. */
  readonly findMissing: (folder: string | null) => Promise<string>;
  readonly dismissMissing: () => void;
  /** The document for others. `withPaths`: with the paths of this machine. */
  readonly exportSession: (withPaths: boolean) => string;
  /** Goes on with a document from elsewhere, as a session of its own. */
  readonly importSession: (file: File) => Promise<void>;
  /** When what is kept of the open model is in its place. */
  readonly whenRestored: () => Promise<void>;
  /** The session as it would be saved now. */
  readonly sessionNow: () => SessionDocument;
  /** Takes the place of this session, with all that it holds. */
  readonly takeDocument: (session: string, document: SessionDocument, opens?: OpenSource | null) => Promise<void>;
  /** Saves at once what has changed. */
  readonly saveSession: () => Promise<void>;
  /** The document, where it is not saved as it is now; null: nothing is lost with this page. */
  readonly unsavedText: () => string | null;
}

export interface MissingModel {
  readonly model: SessionModel;
  readonly sentence: string;
}

export interface BeginOptions {
  /** The model to open instead of the one that was open. */
  readonly opens?: OpenSource | null;
  /** The session whose document is read, where that is another one: this one becomes a copy. */
  readonly from?: string;
  /** What its page held when it was left, as `unsavedText` gave it: taken where it is newer than what was saved. */
  readonly leftText?: string | null;
}

export const newSessionId = (): string => crypto.randomUUID();

/** Of quiet before a save, and at most between a change and its save. */
const QUIET_MS = 800;
const LATEST_MS = 5000;

type Parts = Readonly<Record<string, Json>>;

const sourceOf = (source: OpenSource | null, { title, file }: Overview): SessionSource => {
  if (source?.kind === "offer") return source;
  if (source?.kind === "text" && source.text.length <= LARGEST_KEPT_TEXT) return source;
  // A dropped file that was found on the engine's machine has a path.
  const own = source?.kind === "text" ? source.file?.path : source?.kind === "path" ? source.path : undefined;
  const path = own ?? file?.path ?? null;
  if (path !== null) return { kind: "path", path };
  return { kind: "name", name: source === null ? title : titleOf(source) };
};

/** Of the file; null for an offer. */
const nameOf = (source: SessionSource): string | null =>
  source.kind === "offer" ? null : source.kind === "path" ? fileName(source.path) : source.name;

/** null for a model of which only the name is known. */
const kindOf = (source: SessionSource): OpenSource | null => (source.kind === "name" ? null : source);

export function createMemorySlice<State extends SessionState & MemorySlice>(
  tools: SliceTools<MemorySlice, State>,
  parts: readonly DocumentPart<State>[],
): MemorySlice {
  const { engine, set, get, on, watch } = tools;
  /** By identity. That of the open model is older than what the window shows. */
  const models = new Map<string, SessionModel>();
  /** Of parts of the window that no list knows: a newer version's, which a save does not lose. */
  let windowParts: Parts = {};
  let lastSaved = "";
  /** While a document is being put into place nothing is saved. */
  let restoring = 0;
  let restoresOpen = true;
  let restored: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let changedAt = 0;
  let saidLeftOut = false;
  let saidProblem = false;

  const savedParts = (of: "window" | "model", before: Parts): Parts => {
    const state = get();
    const mine = parts.filter((part) => part.of === of);
    const known = new Set(mine.map(({ name }) => name));
    const unknown = Object.entries(before).filter(([name]) => !known.has(name));
    const saved = mine.flatMap(({ name, save }): readonly (readonly [string, Json])[] => {
      const value = save(state);
      return value === null ? [] : [[name, value]];
    });
    return Object.fromEntries([...unknown, ...saved]);
  };

  /** Notes what the window holds about the open model. */
  const rememberOpen = (): string | null => {
    const open = current(get().model);
    if (open === null) return null;
    const identity = identityOf(open.title, open.file);
    // Half restored: what is kept is better.
    if (restoring > 0 && models.has(identity)) return identity;
    const before = models.get(identity);
    models.set(identity, {
      identity,
      title: open.title,
      variant: open.variant,
      source: sourceOf(get().source, open),
      headerHash: open.file?.headerHash ?? null,
      bytes: open.file?.bytes ?? 0,
      usedAt: before?.usedAt ?? Date.now(),
      parts: savedParts("model", before?.parts ?? {}),
    });
    return identity;
  };

  const restoreParts = async (of: "window" | "model", values: Parts, isCurrent: () => boolean): Promise<void> => {
    restoring += 1;
    const refused: string[] = [];
    try {
      for (const part of parts) {
        const value = values[part.name];
        if (part.of !== of || value === undefined || !isCurrent()) continue;
        if (!(await part.restore(value, tools as unknown as SliceTools<never, never>))) refused.push(part.name);
      }
    } finally {
      restoring -= 1;
    }
    if (refused.length > 0)
      get().notify({
        ...{ level: "warning", code: "INPUT_MALFORMED", details: null },
        title: "Not all of the session could be restored",
        text: `These parts are damaged or of another version: ${refused.join(", ")}.`,
        hint: "The rest is as it was.",
      });
  };

  on("sessionGiven", (file) => void get().importSession(file));
  on("modelLeaving", ({ opensAgain }) => {
    restoresOpen = !opensAgain;
    if (!opensAgain && get().sessionId !== null) rememberOpen();
  });
  on("modelShown", (overview) => {
    const identity = identityOf(overview.title, overview.file);
    if (get().missing?.model.identity === identity) set({ missing: null });
    const known = models.get(identity);
    const restores = restoresOpen;
    restoresOpen = true;
    if (known === undefined) return;
    models.set(identity, { ...known, usedAt: Date.now() });
    // The slices have kept it all: only the engine was away, or adapters were chosen.
    if (!restores) return;
    const isCurrent = (): boolean => {
      const open = current(get().model);
      return open !== null && identityOf(open.title, open.file) === identity;
    };
    restored = restoreParts("model", known.parts, isCurrent).catch((error: unknown) =>
      get().notifyError("The session could not be restored", error),
    );
  });

  const sessionNow = (): SessionDocument => {
    const open = rememberOpen();
    return {
      format: "rlx-session",
      version: 1,
      writtenBy: VERSION,
      savedAt: Date.now(),
      parts: savedParts("window", windowParts),
      models: [...models.values()].toSorted((a, b) => b.usedAt - a.usedAt),
      open,
    };
  };

  /** null: there is nothing to save, or it is saved as it is. */
  const unsaved = () => {
    if (get().sessionId === null || restoring > 0) return null;
    const document = sessionNow();
    // A window in which no model was opened has nothing to find again.
    if (document.models.length === 0) return null;
    const fitted = fittedText(document);
    // The time of a save is no change.
    const unchanged = fitted.text.replace(/"savedAt":\d+/u, "");
    return unchanged === lastSaved ? null : { ...fitted, unchanged, savedAt: document.savedAt };
  };

  const save = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const { sessionId, connection } = get();
    if (sessionId === null || connection !== "connected") return;
    const changed = unsaved();
    if (changed === null) return;
    const { text, leftOut, unchanged, savedAt } = changed;
    if (leftOut.length > 0 && !saidLeftOut) {
      saidLeftOut = true;
      get().notify({
        ...{ level: "warning", code: "INPUT_LIMIT", details: leftOut.join("\n") },
        stays: true,
        title: "The session is too large to be saved whole",
        text: `Left out: ${leftOut.join(", ")}.`,
        hint: "Start a new conversation, or export what is to stay.",
      });
    }
    try {
      await engine.call("sessions.save", { session: sessionId, text });
      lastSaved = unchanged;
      saidProblem = false;
      set({ sessionSavedAt: savedAt });
    } catch (error) {
      // A lost engine is said elsewhere, and the session is saved when it is back.
      if (saidProblem || toWireError(error).code === "ENGINE_LOST") return;
      saidProblem = true;
      get().notifyError("The session could not be saved", error, { stays: true });
    }
  };
  const schedule = (): void => {
    if (get().sessionId === null) return;
    const now = Date.now();
    if (timer === undefined) changedAt = now;
    else if (now - changedAt > LATEST_MS) return;
    clearTimeout(timer);
    timer = setTimeout(() => void save(), QUIET_MS);
  };
  watch((state) => [state], schedule);

  const take = async (document: SessionDocument, opens: OpenSource | null): Promise<void> => {
    models.clear();
    for (const model of document.models) models.set(model.identity, model);
    windowParts = document.parts;
    await restoreParts("window", document.parts, () => true);
    const open = document.models.find(({ identity }) => identity === document.open);
    const isSame = open !== undefined && (opens === null || openOf(opens) === openOf(kindOf(open.source)));
    if (isSame) await reopen(open);
    else if (opens !== null) await get().open(opens);
    await restored;
  };

  /** Opens the model of a session, and says what is in the way. */
  const reopen = async (model: SessionModel): Promise<void> => {
    const { source, title } = model;
    const miss = (sentence: string): void => set({ missing: { model, sentence } });
    if (source.kind === "name") return miss(`${title} is not open: the session knows its file by name only.`);
    await get().open(source);
    const opened = current(get().model);
    if (opened === null) miss(`${title} could not be opened where it was.`);
    else if (identityOf(opened.title, opened.file) !== model.identity)
      miss(`${title} has changed: its header or its size differs. What was kept of the old file is still there.`);
  };

  /** As it was saved, or as its page was left, whichever is newer. */
  const kept = async (session: string, leftText: string | null): Promise<SessionDocument> => {
    const left = leftText === null ? null : readDocument(leftText);
    try {
      const saved = readDocument((await engine.call("sessions.load", { session })).text);
      return left !== null && left.savedAt > saved.savedAt ? left : saved;
    } catch (error) {
      if (left !== null) return left;
      throw error;
    }
  };

  const begin = async (session: string, options: BeginOptions): Promise<void> => {
    const { opens = null, from = session, leftText = null } = options;
    let document: SessionDocument;
    try {
      document = await kept(from, leftText);
    } catch (error) {
      // A new one has no document yet. One that cannot be read is not written over.
      const isNew = toWireError(error).code === "INPUT_NOT_FOUND";
      if (!isNew) get().notifyError("The session could not be read", error, { stays: true });
      set({ sessionId: isNew ? session : newSessionId() });
      if (opens !== null) await get().open(opens);
      return;
    }
    await get().takeDocument(session, document, opens);
  };

  return {
    sessionId: null,
    sessionExpected: false,
    missing: null,
    sessionSavedAt: null,
    sessions: IDLE,
    async loadSessions() {
      set({ sessions: loading(get().sessions) });
      try {
        set({ sessions: ready((await engine.call("sessions.list", {})).sessions) });
      } catch (error) {
        set({ sessions: failed(error) });
      }
    },
    async removeSession(session) {
      try {
        await engine.call("sessions.remove", { session });
        await get().loadSessions();
      } catch (error) {
        get().notifyError("The session could not be removed", error);
      }
    },
    expectSession: () => set({ sessionExpected: true }),
    async beginSession(session, options = {}) {
      try {
        await begin(session, options);
      } finally {
        set({ sessionExpected: false });
      }
    },
    async continueSession(session) {
      if (session === get().sessionId) return;
      await save();
      const isFree = await holdSession(session);
      await get().beginSession(isFree ? session : newSessionId(), { from: session });
      if (isFree) return;
      get().notify({
        ...{ level: "info", code: null, details: null },
        title: "This is a copy of the session",
        text: "Another window has the session open and goes on saving it.",
        hint: null,
      });
    },
    async findMissing(folder) {
      const { missing } = get();
      if (missing === null) return "";
      const { source, headerHash, bytes } = missing.model;
      const name = nameOf(source);
      if (name === null || headerHash === null) return "It has no file to look for.";
      const found = await engine.call("model.find", { name, headerHash, bytes, folder });
      if (found.path !== null) await get().open({ kind: "path", path: found.path });
      return found.sentence;
    },
    dismissMissing: () => set({ missing: null }),
    exportSession(withPaths) {
      const document = sessionNow();
      return JSON.stringify(withPaths ? document : withoutPaths(document), null, 1);
    },
    async importSession(file) {
      try {
        const document = readDocument(await textOf(file, 4 * LARGEST_DOCUMENT));
        await get().takeDocument(newSessionId(), document);
      } catch (error) {
        get().notifyError(`${file.name} could not be imported`, error);
      }
    },
    whenRestored: () => restored,
    sessionNow,
    async takeDocument(session, document, opens = null) {
      await save();
      // What is open belongs to the session before.
      if (current(get().model) !== null) get().close();
      lastSaved = "";
      set({ sessionId: session, sessionSavedAt: null });
      restoring += 1;
      try {
        await take(document, opens);
      } finally {
        restoring -= 1;
        schedule();
      }
    },
    saveSession: save,
    unsavedText: () => unsaved()?.text ?? null,
  };
}
