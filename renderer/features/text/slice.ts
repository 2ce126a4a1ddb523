/**
 * A graph that is open as text: what is written of it and not yet used, what is wrong with that, and its runs on devices, side
 * by side. What is written is read by the engine when there was quiet; using it opens it like a file.
 */
import { z } from "zod";
import type { Input } from "../../../main/contract/contract.ts";
import type { GalleryEntry, OpFacts, TextFile, TextRun, TextReport } from "../../../main/contract/views/text.ts";
import { LARGEST_KEPT_TEXT } from "../../../main/contract/views/session.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import { documentPart } from "../../session/document.ts";
import { askedOf } from "./asked.ts";
import type { SliceTools } from "../../session/slice.ts";

/** The array of an input: a file of the engine's machine or one of this window. */
export type GivenInput = Exclude<
  NonNullable<Input<"text.run">["inputs"]>[string],
  { readonly numbers: readonly number[] }
>;

/** How graphs are run; kept from graph to graph but for what names their own values. */
export interface GraphRunForm {
  readonly devices: readonly string[];
  readonly seed: number;
  readonly symbols: Readonly<Record<string, number>>;
  readonly inputs: Readonly<Record<string, GivenInput>>;
}

export interface DeviceRun {
  readonly device: string;
  readonly result: { readonly ok: true; readonly run: TextRun } | { readonly ok: false; readonly error: WireError };
}

export interface OpenText {
  readonly name: string;
  readonly file: TextFile | null;
  readonly text: string;
}

export interface TextSlice {
  /** As it is used: the graph of the window. */
  readonly text: Async<OpenText>;
  /** What its file says; null: it has none, or that is not known. */
  readonly textOnDisk: string | null;
  /** Why it was not saved; null once it was, or after a reload. */
  readonly textNotSaved: WireError | null;
  /** As it is written; null: as it is used. */
  readonly textDraft: string | null;
  /** Of what is written. */
  readonly textReport: Async<TextReport>;
  /** Another place in the text to go to. */
  readonly textPlace: { readonly offset: number; readonly at: number } | null;
  readonly loadText: () => Promise<void>;
  readonly setTextDraft: (text: string) => void;
  /** Reads what is written, also where it is too long to be read on its own. */
  readonly readTextNow: () => Promise<void>;
  readonly formatTextNow: (text: string) => Promise<string | null>;
  /** Makes what is written the graph of the window. */
  readonly applyText: () => Promise<void>;
  /** To the file that it was opened from. `overwrite`: also where another program has written there. */
  readonly saveTextFile: (overwrite: boolean) => Promise<void>;
  /** Opens that file again, as it is now. */
  readonly reloadText: () => Promise<void>;
  readonly revertText: () => void;
  readonly goToText: (offset: number) => void;
  readonly mendText: (fix: { readonly start: number; readonly end: number; readonly text: string }) => void;
  readonly operations: Async<readonly OpFacts[]>;
  readonly loadOperations: () => Promise<void>;
  readonly gallery: Async<readonly GalleryEntry[]>;
  readonly loadGallery: () => Promise<void>;

  readonly graphForm: GraphRunForm;
  readonly setGraphForm: (change: Partial<GraphRunForm>) => void;
  readonly graphRuns: readonly DeviceRun[];
  /** The device that runs now. */
  readonly graphRunning: string | null;
  readonly runGraph: () => Promise<void>;
  readonly stopGraph: () => void;
}

/** Letters up to which a text is read while it is written: half a second of the engine. */
const LIVE_LETTERS = 1 << 20;
/** Values of an output that come here. */
const VALUES = 4096;

/** Quiet before a text is read: a long one takes longer to read, and is read less often. */
export const quietFor = (letters: number): number => 250 + Math.min(1250, letters / 400);

const NO_TEXT = {
  ...{ text: IDLE, textOnDisk: null, textNotSaved: null, textDraft: null, textReport: IDLE, textPlace: null },
  ...{ graphRuns: [], graphRunning: null },
} as const;
const NO_FORM: GraphRunForm = { devices: ["cpu"], seed: 1, symbols: {}, inputs: {} };

export function createTextSlice(tools: SliceTools<TextSlice>): TextSlice {
  const { engine, set, get, on } = tools;
  const reading = createTask();
  const running = createTask();
  let places = 0;
  const written = (): string | null => get().textDraft ?? current(get().text)?.text ?? null;
  /** A text that a file says, so that an edited one is known from it. */
  let kept: { readonly hash: string; readonly text: string } | null = null;
  const onDisk = ({ file, text }: OpenText): string | null => {
    if (file === null) return null;
    if (get().source?.kind === "path") kept = { hash: file.hash, text };
    return kept?.hash === file.hash ? kept.text : null;
  };
  const openText = (): string | null => {
    const open = current(get().model);
    return open?.kind === "text" ? open.model : null;
  };

  on("modelLeft", ({ opensAgain }) => {
    reading.abandon();
    running.abandon();
    if (!opensAgain) set({ ...NO_TEXT, graphForm: { ...get().graphForm, symbols: {}, inputs: {} } });
  });
  on("modelShown", ({ kind, canGraph }) => {
    if (kind !== "text") return;
    void get().loadText();
    // Where something is wrong, that is what there is to see.
    if (!canGraph.ok) get().setTab("text");
  });

  const read = async (text: string): Promise<void> => {
    const { signal, isCurrent } = reading.begin();
    set({ textReport: loading(get().textReport) });
    try {
      const report = await engine.call("text.read", { text, types: true }, { signal });
      if (isCurrent()) set({ textReport: ready(report) });
    } catch (error) {
      if (isCurrent() && !isCancelled(error)) set({ textReport: failed(error) });
    }
  };

  return {
    ...NO_TEXT,
    ...{ operations: IDLE, gallery: IDLE, graphForm: NO_FORM },
    async loadText() {
      const model = openText();
      if (model === null) return;
      set({ text: loading(get().text) });
      try {
        const source = await engine.call("text.source", { model });
        if (openText() !== model) return;
        const { text } = source;
        set({ text: ready(source), textOnDisk: onDisk(source) });
        if (get().textDraft === text) set({ textDraft: null });
        await get().readTextNow();
      } catch (error) {
        if (openText() === model) set({ text: failed(error) });
      }
    },
    setTextDraft(text) {
      set({ textDraft: text === current(get().text)?.text ? null : text });
      if (text.length <= LIVE_LETTERS) void read(text);
      else {
        reading.abandon();
        set({ textReport: IDLE });
      }
    },
    async readTextNow() {
      const text = written();
      if (text !== null) await read(text);
    },
    async formatTextNow(text) {
      try {
        return (await engine.call("text.format", { text })).text;
      } catch (error) {
        get().notifyError("The text could not be formatted", error);
        return null;
      }
    },
    async applyText() {
      const [text, before] = [written(), current(get().text)];
      if (text === null || before === null) return;
      const { tab } = get();
      const { name, file } = before;
      await get().open({ kind: "text", name, text, ...(file === null ? {} : { file }) });
      // Nothing else changes for the person who wrote it.
      get().setTab(tab);
    },
    async saveTextFile(overwrite) {
      const [text, open] = [written(), current(get().text)];
      if (text === null || open === null || open.file === null) return;
      const { path, hash } = open.file;
      try {
        const file = await engine.call("text.save", { path, text, was: hash, overwrite });
        kept = { hash: file.hash, text };
        const now = current(get().text);
        // Another graph may be open by now.
        if (now === null || now.file?.path !== path) return;
        set({ text: ready({ ...now, file }), textOnDisk: text, textNotSaved: null });
      } catch (error) {
        if (current(get().text)?.file?.path === path) set({ textNotSaved: toWireError(error) });
      }
    },
    async reloadText() {
      const file = current(get().text)?.file ?? null;
      if (file === null) return;
      const { tab } = get();
      // Before the session is saved with it, from which it would come back.
      set({ textDraft: null, textNotSaved: null });
      await get().open({ kind: "path", path: file.path });
      if (current(get().model)?.kind === "text") get().setTab(tab);
    },
    revertText() {
      set({ textDraft: null });
      void get().readTextNow();
    },
    goToText: (offset) => set({ textPlace: { offset, at: ++places } }),
    mendText({ start, end, text }) {
      const before = written();
      if (before === null) return;
      get().setTextDraft(before.slice(0, start) + text + before.slice(end));
      get().goToText(start);
    },
    async loadOperations() {
      if (get().operations.kind !== "idle") return;
      set({ operations: loading(get().operations) });
      try {
        set({ operations: ready((await engine.call("ops.list", {})).ops) });
      } catch (error) {
        set({ operations: failed(error) });
      }
    },
    async loadGallery() {
      if (get().gallery.kind === "ready") return;
      set({ gallery: loading(get().gallery) });
      try {
        set({ gallery: ready((await engine.call("text.gallery", {})).graphs) });
      } catch (error) {
        set({ gallery: failed(error) });
      }
    },
    setGraphForm: (change) => set({ graphForm: { ...get().graphForm, ...change } }),
    async runGraph() {
      const { graphForm, graphRunning, target } = get();
      const source = current(get().text);
      if (source === null || graphRunning !== null || graphForm.devices.length === 0) return;
      const { signal, isCurrent } = running.begin();
      const given = askedOf(graphForm, current(get().textReport)?.graph ?? null);
      set({ graphRuns: [] });
      for (const device of graphForm.devices) {
        if (signal.aborted || !isCurrent()) break;
        set({ graphRunning: device });
        const asked = { text: source.text, name: source.name, device, ...given, target, values: VALUES };
        const result = await engine.call("text.run", asked, { signal }).then(
          (run): DeviceRun["result"] => ({ ok: true, run }),
          (error: unknown): DeviceRun["result"] => ({ ok: false, error: toWireError(error) }),
        );
        if (!isCurrent()) return;
        if (result.ok || result.error.code !== "CANCELLED")
          set({ graphRuns: [...get().graphRuns, { device, result }] });
      }
      if (isCurrent()) set({ graphRunning: null });
    },
    stopGraph: running.stop,
  };
}

/** Of a text with a file: it says something else than the file. */
export const isUnsaved = (state: Pick<TextSlice, "text" | "textDraft" | "textOnDisk">): boolean => {
  const open = current(state.text);
  return open !== null && open.file !== null && (state.textDraft ?? open.text) !== state.textOnDisk;
};

/** What is written and not used yet. */
export const textPart = documentPart<TextSlice>()({
  name: "text",
  of: "model",
  schema: z.object({ draft: z.string().max(LARGEST_KEPT_TEXT) }),
  save: ({ textDraft }) => (textDraft === null || textDraft.length > LARGEST_KEPT_TEXT ? null : { draft: textDraft }),
  restore({ draft }, { get }) {
    if (current(get().text)?.text !== draft) get().setTextDraft(draft);
  },
});
