/**
 * The Compare tab: two sides that are chosen, what differs between them, and a measurement of both in turn. A file of a side is
 * open in the engine for as long as it is chosen.
 */
import type { CompareInput, Comparison, MergedGraph, Side } from "../../../main/contract/views/compare.ts";
import type { BenchItem } from "../../../main/contract/views/bench.ts";
import type { Subject } from "../../../main/contract/views/cost.ts";
import { BACKENDS } from "../../../main/contract/views/graph.ts";
import { readDocument } from "../../../main/contract/views/session.ts";
import { toWireError, WorkbenchError } from "../../../main/diagnostics/errors.ts";
import type { WireError } from "../../../main/diagnostics/errors.ts";
import type { Overview } from "../../../main/contract/views/model.ts";
import type { Async } from "../../session/async.ts";
import { createTask, current, failed, IDLE, isCancelled, loading, ready } from "../../session/async.ts";
import type { MemorySlice } from "../../session/memory.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import { saveText } from "../../ui/saveText.ts";
import type { KeptBench, KeptRun, SideChoice, SideParts } from "./sides.ts";
import { answerOf, firstHere, initialSides, measurableOn, sideOfSession, subjectOn } from "./sides.ts";

export interface Sides {
  readonly a: SideChoice;
  readonly b: SideChoice;
}

export interface Working {
  readonly what: "compare" | "bench";
  readonly sentence: string;
  readonly fraction: number | null;
  readonly since: number;
  /** It waits for a quiet machine. */
  readonly waiting: boolean;
}

export interface CompareSlice {
  /** null until the tab was shown. */
  readonly sides: Sides | null;
  readonly comparison: Async<Comparison>;
  readonly comparing: Working | null;
  /** Why both cannot be measured in turn; null where they can, or where nothing is compared yet. */
  readonly sidesRefusal: string | null;
  /** Why the last measurement did not come about. */
  readonly sidesError: WireError | null;
  /** The answers that are compared, whatever they are of. */
  readonly comparedAnswers: { readonly a: string; readonly b: string } | null;
  /** Both graphs as one; idle where there is nothing to draw. */
  readonly merged: Async<MergedGraph>;
  readonly chooseSide: (side: Side, choice: SideChoice) => void;
  readonly swapSides: () => void;
  /** Chooses sides where there are none yet, and compares. */
  readonly beginCompare: () => Promise<void>;
  readonly compareAgain: () => Promise<void>;
  /** Opens the first file, puts the other one beside it on a runtime of this machine, and measures both in turn. */
  readonly compareFiles: (first: string, other: string) => Promise<void>;
  /** Puts both sides on the first runtime that measures here, and measures them. */
  readonly measureHere: () => Promise<void>;
  readonly stopComparing: () => void;
  /** Measures both in turn on this machine. */
  readonly benchSides: (conditions?: "wait" | "warn") => Promise<void>;
  readonly saveComparison: () => Promise<void>;
  /** An op of the open model in the graph. */
  readonly showCompared: (side: Side, node: number) => void;
}

/** What other features keep, and a comparison can speak of. */
interface Kept {
  readonly runHistory: readonly KeptRun[];
  readonly benchResults: readonly KeptBench[];
  readonly benchEarlier: readonly KeptBench[];
}
type Readable = SessionState & Pick<MemorySlice, "whenRestored"> & CompareSlice & Kept;
type Speed = NonNullable<CompareInput["speed"]>;
/** With the subjects as the window has them. */
interface Asked extends CompareInput {
  readonly a: { readonly model: string; readonly subject: Subject };
  readonly b: { readonly model: string; readonly subject: Subject };
}

const NOTHING = { merged: IDLE, comparedAnswers: null, sidesRefusal: null, sidesError: null } as const;

/** A graph of more than about 5000 ops. */
const MANY_TENSORS = 1000;

const otherRuntime = (window: Subject): Subject | null => {
  const other = BACKENDS.find(({ backend }) => backend !== window.backend);
  return other === undefined ? null : { ...window, backend: other.backend };
};

/** With the wait for a quiet machine, within a minute. */
const BENCH = { promptTokens: 128, generateTokens: 32, repeats: 100, decideWithin: 30, waitSeconds: 20 } as const;

export function createCompareSlice({
  engine,
  set,
  get,
  on,
  once,
  emit,
  watch,
}: SliceTools<CompareSlice, Readable>): CompareSlice {
  const task = createTask();
  /** Models of files that are chosen, by their source. */
  const opened = new Map<string, Overview>();
  /** Of the last pair that was measured here. */
  let measured: { readonly of: string; readonly speed: Speed } | null = null;
  let input: Asked | null = null;
  /** The file that was chosen beside the one that opens; both are measured once they are compared. */
  let wanted: string | null = null;

  const end = (): void => {
    set({ comparing: null });
    emit("personWaits", false);
  };
  const closeOthers = (kept: ReadonlySet<string>): void => {
    for (const [key, { model }] of opened)
      if (!kept.has(key)) {
        opened.delete(key);
        void engine.call("model.close", { model }).catch(() => undefined);
      }
  };
  on("modelLeft", ({ opensAgain }) => {
    task.abandon();
    if (opensAgain) opened.clear();
    else closeOthers(new Set());
    [measured, input] = [null, null];
    set({ sides: null, comparison: IDLE, ...NOTHING });
    end();
  });
  // What is compared as the window has it is another thing on another subject.
  watch(
    ({ backend, target, phase }) => [backend, target, phase],
    () => {
      task.abandon();
      set({ comparison: IDLE, ...NOTHING });
      end();
    },
  );

  const windowSubject = (): Subject | null => {
    const { backend, target } = get();
    return target === null ? null : { backend, target };
  };
  const say = (what: Working["what"], sentence: string, fraction: number | null = null, waiting = false): void => {
    const { comparing } = get();
    set({ comparing: { what, sentence, fraction, since: comparing?.since ?? Date.now(), waiting } });
  };

  const partsOf = async (choice: SideChoice, window: Subject, signal: AbortSignal): Promise<SideParts> => {
    const own: SideParts = {
      source: { kind: "open" },
      subject: subjectOn(choice.on, window),
      ...{ measured: null, answer: null },
    };
    const { model } = choice;
    if (model.kind === "open") return own;
    if (model.kind === "file") return { ...own, source: { kind: "path", path: model.path } };
    if (model.kind === "run") {
      const run = get().runHistory.find(({ id }) => id === model.id);
      return { ...own, answer: run === undefined ? null : answerOf(run) };
    }
    if (model.kind === "bench") {
      const entry = [...get().benchResults, ...get().benchEarlier].find(({ id }) => id === model.id);
      const name = model.id > 0 ? `Bench ${model.id}` : "An earlier benchmark";
      return {
        ...own,
        measured: entry === undefined ? null : { record: entry.result, subject: model.subject, name },
      };
    }
    const { text } = await engine.call("sessions.load", { session: model.session }, { signal });
    const side = sideOfSession(readDocument(text), window);
    if (typeof side === "string")
      throw new WorkbenchError("INPUT_ARGUMENT", `[compare] ${side}`, { hint: "Choose the file itself." });
    return choice.on === null ? side : { ...side, subject: own.subject };
  };

  const modelOf = async ({ source }: SideParts, signal: AbortSignal): Promise<string> => {
    if (source.kind === "open") return current(get().model)?.model ?? "";
    const key = JSON.stringify(source);
    const known = opened.get(key) ?? (await engine.call("model.open", { source }, { signal }));
    opened.set(key, known);
    return known.model;
  };

  const inputOf = async ({ a, b }: Sides, signal: AbortSignal): Promise<Asked | null> => {
    const window = windowSubject();
    if (window === null) return null;
    const [left, right] = [await partsOf(a, window, signal), await partsOf(b, window, signal)];
    const models = { a: await modelOf(left, signal), b: await modelOf(right, signal) };
    closeOthers(new Set([left, right].map(({ source }) => JSON.stringify(source))));
    const own = JSON.stringify([models, left.subject, right.subject]);
    const { measured: first } = left;
    const { measured: second } = right;
    const kept: Speed | null =
      first === null || second === null ? null : { a: first, b: second, together: first.record === second.record };
    return {
      a: { model: models.a, subject: left.subject },
      b: { model: models.b, subject: right.subject },
      phase: get().phase,
      speed: measured?.of === own ? measured.speed : kept,
      answers: left.answer === null || right.answer === null ? null : { a: left.answer, b: right.answer },
    };
  };

  const bestOther = async (window: Subject): Promise<Subject | null> => {
    const open = current(get().model);
    if (open === null || !open.canGraph.ok) return null;
    // A forecast of every target would take longer than the comparison itself: another runtime needs no program for Core ML.
    if (open.file !== null && open.file.tensorCount > MANY_TENSORS) return otherRuntime(window);
    say("compare", "Looking for the fastest other target");
    try {
      const { rows } = await engine.call("verdict.get", { model: open.model, subject: window, rows: "all" });
      const others = rows.flatMap((row) =>
        row.ok && JSON.stringify(row.subject) !== JSON.stringify(window)
          ? [{ subject: row.subject, seconds: row.speed.token.value }]
          : [],
      );
      return others.sort((x, y) => x.seconds - y.seconds)[0]?.subject ?? null;
    } catch {
      // Without a prediction any other target will do.
      return null;
    }
  };

  const compare = async (): Promise<void> => {
    const { sides } = get();
    if (sides === null) return;
    task.stop();
    const { signal, isCurrent } = task.begin();
    set({ comparison: loading(get().comparison), comparing: null });
    say("compare", "Opening");
    emit("personWaits", true);
    try {
      const asked = await inputOf(sides, signal);
      if (asked === null || !isCurrent()) return;
      input = asked;
      const { a, b, phase, answers } = asked;
      const texts = answers === null || answers === undefined ? null : { a: answers.a.text, b: answers.b.text };
      set({ merged: IDLE, comparedAnswers: texts, sidesRefusal: refusalOf(asked) });
      for await (const item of engine.stream("compare.run", asked, { signal })) {
        if (!isCurrent()) return;
        if (item.kind === "phase") say("compare", item.sentence, item.fraction);
        else set({ comparison: ready(item.comparison) });
      }
      const graph = current(get().comparison)?.graph ?? null;
      if (graph === null || graph.rows.length === 0) return;
      say("compare", "Merging the graphs");
      set({ merged: loading<MergedGraph>(IDLE) });
      const merged = await engine.call("compare.graph", { a, b, phase }, { signal });
      if (isCurrent()) set({ merged: merged === null ? IDLE : ready(merged) });
    } catch (error) {
      if (!isCurrent()) return;
      if (get().merged.kind === "loading") set({ merged: isCancelled(error) ? IDLE : failed(error) });
      else set({ comparison: isCancelled(error) ? IDLE : failed(error) });
    } finally {
      if (isCurrent()) end();
    }
  };

  const measurable = ({ backend }: Subject) => measurableOn(backend, current(get().info)?.devices ?? []);

  const refusalOf = ({ a, b }: Asked): string | null => {
    const found = [a, b].map(({ subject }) => measurable(subject));
    for (const each of found) if ("why" in each) return each.why;
    const [onA, onB] = found.map((each) => ("device" in each ? each.device : ""));
    if (a.model === b.model && onA === onB) return "Both sides are the same model on the same device.";
    const open = current(get().model);
    const all = [...(open === null ? [] : [open]), ...opened.values()];
    const cannot = [a, b].map(({ model }) => all.find((each) => each.model === model)?.canMeasure);
    return cannot.find((ability) => ability?.ok === false)?.sentence ?? null;
  };

  return {
    sides: null,
    comparison: IDLE,
    comparing: null,
    ...NOTHING,
    chooseSide(side, choice) {
      const { sides } = get();
      if (sides === null) return;
      set({ sides: { ...sides, [side]: choice } });
      void compare();
    },
    swapSides() {
      const { sides } = get();
      if (sides === null) return;
      set({ sides: { a: sides.b, b: sides.a } });
      measured = null;
      void compare();
    },
    async beginCompare() {
      const open = current(get().model);
      const window = windowSubject();
      if (open === null || window === null) return;
      if (get().sides === null) {
        await get().loadRecents();
        const recents = wanted === null ? (current(get().recents) ?? []) : [{ path: wanted, exists: true }];
        const best = recents.some(({ path, exists }) => exists && path !== open.file?.path)
          ? null
          : await bestOther(window);
        if (current(get().model)?.model !== open.model || get().sides !== null) return;
        set({ comparing: null });
        const devices = current(get().info)?.devices ?? [];
        set({ sides: initialSides(open, { recents, best, window, devices }) });
      }
      if (get().comparison.kind === "idle") await compare();
      if (wanted === null || current(get().comparison) === null) return;
      wanted = null;
      await get().benchSides();
    },
    compareAgain: compare,
    async compareFiles(first, other) {
      await get().open({ kind: "path", path: first });
      // What is kept of it has a tab of its own.
      await get().whenRestored();
      const { model, source } = get();
      // Another one was opened meanwhile, or this one could not be.
      if (current(model) === null || source?.kind !== "path" || source.path !== first) return;
      wanted = other;
      get().setTab("compare");
      await get().beginCompare();
    },
    async measureHere() {
      const { sides } = get();
      const here = firstHere(current(get().info)?.devices ?? []);
      if (sides === null || here === null) return;
      set({ sides: { a: { ...sides.a, on: here }, b: { ...sides.b, on: here } } });
      await compare();
      if (get().sidesRefusal === null) await get().benchSides();
    },
    stopComparing: task.stop,
    async benchSides(conditions = "wait") {
      const asked = input;
      const { comparing } = get();
      if (asked === null || (comparing !== null && !comparing.waiting)) return;
      const [a, b] = [measurable(asked.a.subject), measurable(asked.b.subject)];
      if ("why" in a || "why" in b) return;
      task.stop();
      const { signal, isCurrent } = task.begin();
      set({ sidesError: null, comparing: null });
      say("bench", "Preparing both");
      try {
        const [onA, onB] = [a.device, b.device];
        const others = asked.a.model === asked.b.model ? [] : [asked.b.model];
        const request = { model: asked.a.model, others, device: [...new Set([onA, onB])], conditions, ...BENCH };
        for await (const item of engine.stream("bench.run", request, { signal })) {
          if (!isCurrent()) return;
          if (item.kind !== "done") sayBench(item, say);
          else {
            const sideOf = (model: string, device: string) => ({
              record: item,
              subject: Math.max(
                0,
                item.subjects.findIndex((each) => each.model === model && each.device === device),
              ),
              name: `${[...new Set([onA, onB])].join(" and ")} of this machine, in turn`,
            });
            const speed = { a: sideOf(asked.a.model, onA), b: sideOf(asked.b.model, onB), together: true };
            emit("benchMeasured", item);
            measured = {
              of: JSON.stringify([{ a: asked.a.model, b: asked.b.model }, asked.a.subject, asked.b.subject]),
              speed,
            };
          }
        }
        if (isCurrent() && measured !== null) await compare();
      } catch (error) {
        if (isCurrent() && !isCancelled(error)) set({ sidesError: toWireError(error) });
      } finally {
        if (isCurrent()) set({ comparing: null });
      }
    },
    async saveComparison() {
      if (input === null) return;
      try {
        const { a, phase } = input;
        const made = await engine.call("report.make", { model: a.model, subject: a.subject, phase, against: input });
        saveText(made.name, made.html, "text/html");
      } catch (error) {
        get().notifyError("The comparison could not be saved", error);
      }
    },
    showCompared(side, node) {
      const asked = input?.[side];
      const open = current(get().model);
      if (asked === undefined || open?.model !== asked.model) return;
      const show = (): void => {
        get().setTab("graph");
        emit("nodeChosen", node);
      };
      if (JSON.stringify(asked.subject) === JSON.stringify(windowSubject())) return show();
      once("routesSettled", show);
      if (get().backend !== asked.subject.backend) get().setBackend(asked.subject.backend);
      get().setTarget(asked.subject.target);
    },
  };
}

function sayBench(
  item: Exclude<BenchItem, { kind: "done" }>,
  say: (what: "bench", sentence: string, fraction?: number | null, waiting?: boolean) => void,
): void {
  if (item.kind === "phase") say("bench", item.sentence, null, item.name === "conditions");
  else if (item.kind === "sample")
    say("bench", `Measuring both in turn until it is clear, round ${item.index + 1}`, item.done / item.total);
}
