/** The graph tab's actions: what is open, which stage and colours are shown, search, walking, what a pass did. */
import { BUILT, isRouted, LEGAL, ROUTED, sourceOf, stageOn } from "../../../main/contract/views/graph.ts";
import { allGroups } from "../../graph/fold.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { createGraphModel, groupPath, pathOf } from "../../graph/graphModel.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import { ROOMY } from "../../graph/layout.ts";
import { ownOverlay } from "../../graph/ownColumns.ts";
import { parseQuery, searchNodes } from "../../graph/search.ts";
import { current, failed, IDLE, loading, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/sessionSlice.ts";
import { changesOn, nextRegion } from "./changes.ts";
import type { GraphSlice, GraphState, StageChoice, ViewRequest } from "./graphState.ts";
import {
  isLegalMode,
  isPass,
  isResultMode,
  isRouteMode,
  LEGAL_STAGE,
  roomFor,
  routeColumns,
  shownGraph,
  shownStep,
} from "./graphState.ts";
import { neighbour, selectedBox } from "./walk.ts";

/** What the bars and panes around the canvas take, for a first guess before it is measured. */
const AROUND = { width: 420, height: 150 } as const;

export function createGraphSlice({ engine, set, get }: SliceTools<GraphState>): GraphSlice {
  let serial = 0;
  let overlays = 0;
  let stages = 0;
  const requestView = (kind: ViewRequest["kind"], ref = -1): void => {
    serial += 1;
    set({ viewRequest: { kind, ref, serial } });
  };

  /** Device and segment come with the route, bytes and type with the graph; the rest is asked for. */
  const loadOverlay = async (): Promise<void> => {
    overlays += 1;
    const mine = overlays;
    const state = get();
    const shown = current(shownGraph(state));
    const { target } = state;
    const { graphMode: kind } = state;
    const isHere = isResultMode(kind) || isLegalMode(kind) || (isRouted(state.graphStage) && isRouteMode(kind));
    if (shown === null || target === null || isHere) {
      set({ overlay: IDLE });
      return;
    }
    const own = ownOverlay(shown, kind);
    if (own !== null) {
      set({ overlay: ready(own) });
      return;
    }
    set({ overlay: loading(state.overlay) });
    const isMine = (): boolean => mine === overlays && current(shownGraph(get())) === shown;
    try {
      const overlay = await engine.call("graph.overlay", { key: shown.view.key, kind, target });
      if (isMine()) set({ overlay: ready(overlay) });
    } catch (error) {
      if (isMine()) set({ overlay: failed(error) });
    }
  };

  /** Whether the stage arrived; false: it failed, or another was asked for meanwhile. */
  const loadStage = async (stage: StageChoice): Promise<boolean> => {
    stages += 1;
    const mine = stages;
    const { phase, target } = get();
    const model = current(get().model);
    if (model === null || target === null || isRouted(stage)) {
      set({ stageGraph: IDLE, stageDiff: null, stageChanges: null });
      await loadOverlay();
      return true;
    }
    const isMine = (): boolean => mine === stages && current(get().model)?.model === model.model;
    set({ stageGraph: loading(get().stageGraph) });
    try {
      const [view, diff] = await Promise.all([
        engine.call("graph.get", {
          model: model.model,
          stage: stageOn(stage.backend, shownStep(stage, get().passChoices), target),
          phase,
        }),
        isPass(stage)
          ? engine.call("passes.diff", {
              model: model.model,
              backend: stage.backend,
              phase,
              target,
              pass: stage.step,
              full: false,
            })
          : null,
      ]);
      if (!isMine()) return false;
      const shown = createGraphModel(view);
      set({
        stageGraph: ready(shown),
        stageDiff: diff,
        stageChanges: diff === null ? null : changesOn(shown, diff, stage.side),
      });
    } catch (error) {
      if (isMine()) set({ stageGraph: failed(error), stageDiff: null, stageChanges: null });
      return false;
    }
    await loadOverlay();
    return mine === stages;
  };

  const noteStage = (choice: StageChoice): void => {
    const { phase, target } = get();
    if (target === null) return;
    const stage = shownStep(choice, get().passChoices);
    get().noteCommand({ kind: "graph", backend: choice.backend, stage, phase, target });
  };

  const select = (node: number): void => {
    const shown = current(shownGraph(get()));
    if (shown !== null) get().select({ kind: "node", key: shown.view.key, node });
  };

  return {
    graphMode: "device",
    graphStage: LEGAL_STAGE,
    stageGraph: IDLE,
    stageDiff: null,
    stageChanges: null,
    overlay: IDLE,
    openGroups: new Set(),
    picture: IDLE,
    isolated: null,
    only: null,
    graphQuery: "",
    graphHits: [],
    graphHitAt: -1,
    viewRequest: null,
    anchorGroup: null,
    passChoices: [],
    passBackend: ROUTED.backend,
    graphRoom:
      typeof innerWidth === "number" ? roomFor(innerWidth - AROUND.width, innerHeight - AROUND.height, false) : ROOMY,
    setCanvasSize(width, height) {
      if (width > 0 && height > 0) set({ graphRoom: roomFor(width, height, get().graphRoom.map) });
    },
    keptView: null,
    keepView: (model, view) => set({ keptView: { model, view } }),
    setGraphMode(graphMode) {
      set({ graphMode });
      void loadOverlay();
    },
    setGraphStage(graphStage) {
      set(emptyStage(graphStage));
      get().select({ kind: "none" });
      noteStage(graphStage);
      void loadStage(graphStage);
    },
    async reloadStage() {
      await loadStage(get().graphStage);
    },
    showPass(step) {
      get().setTab("graph");
      get().setGraphStage({ backend: get().passBackend, step, side: "after" });
    },
    setPassSide(side) {
      const { graphStage, selection, stageChanges } = get();
      if (!isPass(graphStage) || graphStage.side === side) return;
      const from = selection.kind === "node" ? selection.node : -1;
      const region = stageChanges?.regions.findLastIndex((node) => node <= from) ?? -1;
      // The same groups stay open: both sides are looked at in the same place.
      const open = openNames(get());
      set({ graphStage: { ...graphStage, side }, graphHits: [], graphHitAt: -1, anchorGroup: null });
      get().select({ kind: "none" });
      noteStage({ ...graphStage, side });
      void loadStage({ ...graphStage, side }).then((arrived) => {
        if (!arrived) return;
        const shown = current(get().stageGraph);
        if (shown !== null) set({ openGroups: groupsNamed(shown, open) });
        // The change that was looked at is looked at from the other side.
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
      const { graphStage, passChoices, passBackend } = get();
      const { backend, step: shown } = graphStage;
      // The pass that is shown is where the step begins, whether or not it changed anything.
      const listed = (passBackend === backend ? passChoices : [])
        .filter(({ name, changed }) => changed || passes === "all" || name === shown)
        .map(({ name }) => name);
      const choices = [BUILT, ...listed, LEGAL];
      const next = choices[choices.indexOf(shown) + step];
      if (next !== undefined) get().setGraphStage({ backend, step: next, side: "after" });
    },
    selectBox(box) {
      const picture = current(get().picture);
      if (picture === null) return;
      const { scene, model } = picture;
      const ref = scene.ref[box] ?? 0;
      if (box < 0) get().select({ kind: "none" });
      else if (scene.kind[box] === BOX_KINDS.op) get().select({ kind: "node", key: model.view.key, node: ref });
      else get().select({ kind: "group", group: ref });
    },
    walk(direction) {
      const picture = current(get().picture);
      if (picture === null) return;
      const next = neighbour(picture.scene, selectedBox(picture, get().selection), direction);
      if (next < 0) return;
      get().selectBox(next);
      requestView("reveal", next);
    },
    goUp() {
      const { selection, openGroups } = get();
      const shown = current(shownGraph(get()));
      if (shown === null) return;
      const parentOf = (group: number): number => shown.view.groups.parent[group] ?? -1;
      const start =
        selection.kind === "group"
          ? openGroups.has(selection.group)
            ? selection.group
            : parentOf(selection.group)
          : selection.kind === "node"
            ? (shown.view.nodes.group[selection.node] ?? -1)
            : -1;
      for (let group = start; group > 0; group = parentOf(group)) {
        if (!openGroups.has(group)) continue;
        get().closeGroups([group]);
        get().select({ kind: "group", group });
        return;
      }
      get().select({ kind: "none" });
    },
    toggleGroup(group) {
      const openGroups = new Set(get().openGroups);
      if (!openGroups.delete(group)) openGroups.add(group);
      set({ openGroups, anchorGroup: group });
    },
    closeGroups(groups) {
      const openGroups = new Set(get().openGroups);
      for (const group of groups) openGroups.delete(group);
      set({ openGroups, anchorGroup: groups[0] ?? null });
    },
    expandAll() {
      const shown = current(shownGraph(get()));
      if (shown !== null)
        set({ openGroups: allGroups(shown), anchorGroup: null, graphRoom: { ...get().graphRoom, map: true } });
      requestView("fit");
    },
    foldAll() {
      set({ openGroups: new Set(), anchorGroup: null, graphRoom: { ...get().graphRoom, map: false } });
      requestView("top");
    },
    isolate: (device) => set({ isolated: get().isolated === device ? null : device }),
    showOnly: (only) => set({ only: get().only === only ? null : only }),
    setGraphQuery(graphQuery) {
      const shown = current(shownGraph(get()));
      const hits = shown === null ? [] : searchNodes(shown, parseQuery(graphQuery), routeColumns(get()));
      set({ graphQuery, graphHits: hits, graphHitAt: -1 });
    },
    nextHit(step) {
      const { graphHits, graphHitAt } = get();
      if (graphHits.length === 0) return;
      const at =
        graphHitAt < 0 && step < 0 ? graphHits.length - 1 : (graphHitAt + step + graphHits.length) % graphHits.length;
      set({ graphHitAt: at });
      const node = graphHits[at];
      if (node !== undefined) get().showNode(node);
    },
    showNode(node) {
      const shown = current(shownGraph(get()));
      if (shown === null || node >= shown.view.nodeCount) return;
      const openGroups = new Set([...get().openGroups, ...pathOf(shown.view, node)]);
      set({ openGroups, anchorGroup: null });
      select(node);
      requestView("showNode", node);
    },
    showSource(source) {
      const built: StageChoice = { backend: get().graphStage.backend, step: BUILT, side: "after" };
      const find = (): boolean => {
        const { step, backend } = get().graphStage;
        const shown = step === BUILT && backend === built.backend ? current(shownGraph(get())) : null;
        if (shown === null) return false;
        const node = shown.view.nodes.id.findIndex((id) => sourceOf(id) === source);
        if (node >= 0) get().showNode(node);
        return true;
      };
      get().setTab("graph");
      if (find()) return;
      set(emptyStage(built));
      void loadStage(built).then((arrived) => arrived && find());
    },
    showGroup(group) {
      const shown = current(shownGraph(get()));
      if (shown === null) return;
      set({
        openGroups: new Set([...get().openGroups, ...groupPath(shown.view, group).slice(0, -1)]),
        anchorGroup: null,
      });
      get().select({ kind: "group", group });
      requestView("showGroup", group);
    },
    requestView,
  };
}

/** Another stage has other nodes and groups: nothing of the old one is kept. */
const emptyStage = (graphStage: StageChoice) =>
  ({ graphStage, openGroups: new Set<number>(), graphHits: [], graphHitAt: -1, anchorGroup: null }) as const;

/** Groups have other numbers in every stage; their paths are the same. */
const pathName = (model: GraphModel, group: number): string =>
  groupPath(model.view, group)
    .map((each) => model.view.strings[model.view.groups.name[each] ?? 0] ?? "")
    .join("/");

function openNames(state: GraphState): ReadonlySet<string> {
  const shown = current(shownGraph(state));
  return new Set(shown === null ? [] : [...state.openGroups].map((group) => pathName(shown, group)));
}

function groupsNamed(model: GraphModel, names: ReadonlySet<string>): ReadonlySet<number> {
  return new Set([...model.view.groups.parent.keys()].filter((group) => names.has(pathName(model, group))));
}
