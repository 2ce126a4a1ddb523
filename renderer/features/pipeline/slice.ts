/** The pipeline's state: the passes of the current phase and target, the one that is chosen, its before and after. */
import type { PassDiff, PassList, TextPage } from "../../../main/contract/views/graph.ts";
import { BUILT, LEGAL, loweredOf, ROUTED, stageOn } from "../../../main/contract/views/graph.ts";
import type { Async } from "../../session/async.ts";
import { createQuestions, current, failed, IDLE, loading, ready } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";

export type PipelineView = "diff" | TextPage["language"];

export interface PipelineSlice {
  readonly passes: Async<PassList>;
  readonly passesFor: string;
  /** The name of the pass that is chosen, or "". */
  readonly passAt: string;
  readonly changedOnly: boolean;
  readonly pipelineView: PipelineView;
  readonly diff: Async<PassDiff>;
  readonly wholeDiff: boolean;
  readonly page: Async<TextPage>;
  readonly pageFrom: number;
  /** The node whose page is shown; its first line is marked. */
  readonly pageAround: number | null;
  readonly loadPasses: () => Promise<void>;
  readonly choosePass: (name: string) => void;
  /** Through the passes that are listed, through those that changed something, or through all (which lists them). */
  readonly stepPass: (step: 1 | -1, passes?: "changed" | "all") => void;
  readonly setChangedOnly: (on: boolean) => void;
  readonly setPipelineView: (view: PipelineView) => void;
  readonly setWholeDiff: (whole: boolean) => void;
  readonly showLines: (firstLine: number) => void;
  /** Jumps from anywhere to what a node of the legal graph became in the MIL program. */
  readonly showMil: (node: number) => void;
}

/** Lines of one page: more than a screen, less than what slows an editor down. */
export const PAGE_LINES = 5000;

type State = SessionState & PipelineSlice;

/** What belongs to one model. */
const NO_PASSES = { passes: IDLE, passesFor: "", passAt: "", diff: IDLE, page: IDLE } as const;

export function createPipelineSlice({ engine, set, get, on, watch, emit }: SliceTools<PipelineSlice>): PipelineSlice {
  const diffs = createQuestions();
  const pages = createQuestions();
  let settledFor = "";

  const place = () => {
    const { model, target, phase, backend } = get();
    const open = current(model);
    return open === null || target === null || !open.canGraph.ok ? null : { model: open.model, backend, target, phase };
  };
  /** The passes of a target follow from its context. */
  const keyOf = (): string => {
    const at = place();
    return JSON.stringify(at === null ? null : { ...at, target: at.target.context });
  };
  const isShown = (): boolean => get().tab === "pipeline";

  const loadDiff = async (): Promise<void> => {
    const at = place();
    const { passAt, wholeDiff } = get();
    if (at === null || passAt === "") return;
    await diffs.ask(
      get().diff,
      () => engine.call("passes.diff", { ...at, pass: passAt, full: wholeDiff }),
      (diff) => set({ diff }),
    );
  };

  const loadPage = async (): Promise<void> => {
    const at = place();
    const { pipelineView, pageFrom, pageAround } = get();
    if (at === null || pipelineView === "diff") return;
    await pages.ask(
      get().page,
      () =>
        engine.call("text.page", {
          key: { model: at.model, stage: stageOn(at.backend, LEGAL, at.target), phase: at.phase },
          language: pipelineView,
          target: at.target,
          firstLine: pageFrom,
          around: pageAround,
          lines: PAGE_LINES,
        }),
      (page) => set({ page }),
    );
  };

  /** Long texts, which only this tab shows: what it has not got is asked for while it is shown. */
  const loadTexts = async (): Promise<void> => {
    if (!isShown()) return;
    const { passes, diff, page } = get();
    await Promise.all([
      passes.kind === "ready" && diff.kind === "idle" ? loadDiff() : undefined,
      page.kind === "idle" ? loadPage() : undefined,
    ]);
  };
  watch(
    ({ tab }) => [tab],
    () => void loadTexts(),
  );

  /** The command line for the current view. */
  const note = (): void => {
    const at = place();
    const { pipelineView: view } = get();
    if (at === null) return;
    const { backend, phase, target } = at;
    if (view === "diff") get().noteCommand({ kind: "passes", backend, phase, target });
    else get().noteCommand({ kind: "graph", backend, stage: view === "rlx-ir" ? LEGAL : view, phase, target });
  };

  /** The number of the selected node in the shown program. */
  const selectedNode = ({ selection, node }: State): number | null =>
    selection.kind === "node" ? (current(node)?.routed ?? null) : null;

  const showPass = (name: string): void => {
    set({ passAt: name, pipelineView: "diff" });
    emit("passChosen", name);
    if (isShown()) void loadDiff();
    else {
      diffs.drop();
      set({ diff: IDLE });
    }
  };

  on("modelLeft", ({ opensAgain }) => {
    if (opensAgain) return;
    diffs.drop();
    pages.drop();
    set(NO_PASSES);
  });
  // Nothing waits for the passes, so they are asked for last.
  on("routesSettled", () => {
    void get().loadPasses();
    // MIL follows from all of the target.
    const settled = JSON.stringify(place());
    if (settled !== settledFor && get().pipelineView === "mil") {
      pages.drop();
      set({ page: IDLE, pageFrom: 0 });
    }
    settledFor = settled;
    void loadTexts();
  });
  on("backendChanged", ({ backend }) => {
    const { pipelineView } = get();
    const isText = pipelineView === "diff" || pipelineView === "rlx-ir";
    set({ pipelineView: isText ? pipelineView : loweredOf(backend).language, pageAround: null });
  });
  on("stageChosen", ({ step }) => {
    if (step !== BUILT && step !== LEGAL && step !== get().passAt) showPass(step);
  });

  return {
    ...NO_PASSES,
    changedOnly: true,
    pipelineView: "diff",
    wholeDiff: false,
    pageFrom: 0,
    pageAround: null,
    async loadPasses() {
      const at = place();
      const key = keyOf();
      if (at === null || get().passesFor === key) return;
      diffs.drop();
      pages.drop();
      set({ passesFor: key, passes: loading(get().passes), diff: IDLE, page: IDLE, pageFrom: 0 });
      try {
        const list = await engine.call("passes.list", at);
        if (get().passesFor !== key) return;
        const first = list.passes.find(({ changed }) => changed) ?? list.passes[0];
        // Another backend's pass of the same name may have changed nothing, and is then not in the list.
        const same = list.passes.find(({ name }) => name === get().passAt);
        const kept = same !== undefined && (same.changed || !get().changedOnly) ? same : first;
        diffs.drop();
        set({ passes: ready(list), passAt: kept?.name ?? "", diff: IDLE });
        emit("passChosen", kept?.name ?? "");
        emit("passesListed", list);
        await loadTexts();
      } catch (error) {
        if (get().passesFor !== key) return;
        set({ passes: failed(error), passesFor: "" });
        emit("passesListed", { passes: [] });
      }
    },
    choosePass(name) {
      showPass(name);
      note();
    },
    stepPass(step, passes = get().changedOnly ? "changed" : "all") {
      if (passes === "all") set({ changedOnly: false });
      const { passAt } = get();
      // The chosen pass is where the step begins, whether or not it changed anything.
      const list =
        current(get().passes)?.passes.filter(({ changed, name }) => changed || passes === "all" || name === passAt) ??
        [];
      const at = list.findIndex(({ name }) => name === passAt);
      const next = list[Math.min(list.length - 1, Math.max(0, at + step))];
      if (next !== undefined && next.name !== passAt) get().choosePass(next.name);
    },
    setChangedOnly: (changedOnly) => set({ changedOnly }),
    setPipelineView(pipelineView) {
      set({ pipelineView, pageFrom: 0, pageAround: selectedNode(get()) });
      note();
      void loadPage();
    },
    setWholeDiff(wholeDiff) {
      set({ wholeDiff });
      void loadDiff();
    },
    showLines(firstLine) {
      set({ pageFrom: Math.max(0, firstLine), pageAround: null });
      void loadPage();
    },
    showMil(node) {
      if (get().backend !== ROUTED.backend) return;
      set({ pipelineView: "mil", pageFrom: 0, pageAround: node });
      if (isShown()) void loadPage();
      else {
        pages.drop();
        set({ page: IDLE });
        get().setTab("pipeline");
      }
      note();
    },
  };
}
