/** From stage to stage: as built, before and after each pass, legal. */
import { BUILT, isRouted, LEGAL, sourceOf, stageOn } from "../../../main/contract/views/graph.ts";
import { createGraphModel } from "../../graph/graphModel.ts";
import { current, failed, IDLE, loading, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import { changesOn, nextRegion } from "../../drawing/changes.ts";
import type { GraphSlice, StageChoice } from "./graphState.ts";
import { isPass, shownStep } from "./graphState.ts";
import { shownGraph } from "../../drawing/pictureState.ts";
import { groupsNamed, openNames } from "./groupNames.ts";
import type { OverlayLoader } from "./overlay.ts";

type StageActions = Pick<
  GraphSlice,
  "setGraphStage" | "showPass" | "setPassSide" | "nextChange" | "stepStage" | "showSource"
>;

export function stageActions(tools: SliceTools<GraphSlice>, overlay: OverlayLoader): StageActions {
  const { set, get, on, watch, emit } = tools;
  const loadStage = createStageLoader(tools, overlay);
  const choose = (graphStage: StageChoice): void => {
    set(emptyStage(graphStage));
    emit("stageChosen", graphStage);
  };
  const note = (choice: StageChoice): void => {
    const { backend, phase, target, passChoices } = get();
    if (target === null) return;
    get().noteCommand({ kind: "graph", backend, stage: shownStep(choice, passChoices), phase, target });
  };

  // Stage and colours depend on target, phase and graph.
  let loadedFor: readonly unknown[] = [];
  const reload = (): void => {
    const { target, phase, graph, graphStage } = get();
    if (graph.kind !== "ready" && graph.kind !== "failed") return;
    const now = [target, phase, graph];
    if (now.every((value, i) => value === loadedFor[i])) return;
    loadedFor = now;
    void loadStage(graphStage).then((arrived) => {
      const shown = current(get().stageGraph);
      if (arrived && shown !== null) get().findAgain(shown);
    });
  };
  watch(({ target, phase, graph }) => [target, phase, graph], reload);
  on("modelLeft", () => {
    loadedFor = [];
    loadStage.drop();
  });

  return {
    setGraphStage(stage) {
      get().holdSelection(current(shownGraph(get())));
      choose(stage);
      note(stage);
      void loadStage(stage).then((arrived) => {
        const shown = current(shownGraph(get()));
        if (arrived && shown !== null) get().findAgain(shown);
      });
    },
    showPass(step) {
      get().setTab("graph");
      get().setGraphStage({ step, side: "after" });
    },
    setPassSide(side) {
      const { graphStage, selection, stageChanges } = get();
      if (!isPass(graphStage) || graphStage.side === side) return;
      const from = selection.kind === "node" ? selection.node : -1;
      const region = stageChanges?.regions.findLastIndex((node) => node <= from) ?? -1;
      const open = openNames(get());
      const stage = { ...graphStage, side };
      set({ graphStage: stage, graphHits: [], graphHitAt: -1, anchorGroup: null });
      get().select({ kind: "none" });
      note(stage);
      void loadStage(stage).then((arrived) => {
        if (!arrived) return;
        const shown = current(get().stageGraph);
        // The same groups stay open, and the same change stays selected: both sides show the same place.
        if (shown !== null) set({ openGroups: groupsNamed(shown, open) });
        const node = get().stageChanges?.regions[region];
        if (node !== undefined) get().showNode(node);
      });
    },
    nextChange(step) {
      const { stageChanges, selection } = get();
      if (stageChanges === null) return;
      const node = nextRegion(stageChanges.regions, selection.kind === "node" ? selection.node : -1, step);
      if (node !== null) get().showNode(node);
    },
    stepStage(step, passes) {
      const { graphStage, passChoices } = get();
      const { step: shown } = graphStage;
      // The step begins at the pass that is shown, whether or not it changed anything.
      const listed = passChoices
        .filter(({ name, changed }) => changed || passes === "all" || name === shown)
        .map(({ name }) => name);
      const choices = [BUILT, ...listed, LEGAL];
      const next = choices[choices.indexOf(shown) + step];
      if (next !== undefined) get().setGraphStage({ step: next, side: "after" });
    },
    showSource(source) {
      const built: StageChoice = { step: BUILT, side: "after" };
      const find = (): boolean => {
        const shown = get().graphStage.step === BUILT ? current(shownGraph(get())) : null;
        if (shown === null) return false;
        const node = shown.view.nodes.id.findIndex((id) => sourceOf(id) === source);
        if (node >= 0) get().showNode(node);
        return true;
      };
      get().setTab("graph");
      if (find()) return;
      choose(built);
      void loadStage(built).then((arrived) => arrived && find());
    },
  };
}

/** Gives true once the stage has arrived; false if it failed or another was asked for meanwhile. */
type StageLoader = ((stage: StageChoice) => Promise<boolean>) & { readonly drop: () => void };

function createStageLoader({ engine, set, get }: SliceTools<GraphSlice>, overlay: OverlayLoader): StageLoader {
  let newest = 0;
  const load = async (stage: StageChoice): Promise<boolean> => {
    newest += 1;
    const mine = newest;
    const { backend, phase, target, passChoices } = get();
    const open = current(get().model);
    if (open === null || target === null || isRouted(stage)) {
      set({ stageGraph: IDLE, stageDiff: null, stageChanges: null });
      await overlay.load();
      return true;
    }
    const { model } = open;
    const { step: pass, side } = stage;
    set({ stageGraph: loading(get().stageGraph) });
    try {
      const [view, diff] = await Promise.all([
        engine.call("graph.get", { model, stage: stageOn(backend, shownStep(stage, passChoices), target), phase }),
        isPass(stage) ? engine.call("passes.diff", { model, backend, phase, target, pass, full: false }) : null,
      ]);
      if (mine !== newest) return false;
      const shown = createGraphModel(view);
      const stageChanges = diff === null ? null : changesOn(shown, diff, side);
      set({ stageGraph: ready(shown), stageDiff: diff, stageChanges });
    } catch (error) {
      if (mine === newest) set({ stageGraph: failed(error), stageDiff: null, stageChanges: null });
      return false;
    }
    await overlay.load();
    return mine === newest;
  };
  return Object.assign(load, { drop: () => void (newest += 1) });
}

/** Another stage has other nodes and groups: nothing of the old one is kept. */
const emptyStage = (graphStage: StageChoice) =>
  ({ graphStage, openGroups: new Set<number>(), graphHits: [], graphHitAt: -1, anchorGroup: null }) as const;
