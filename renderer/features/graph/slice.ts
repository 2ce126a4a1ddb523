/**
 * The graph tab's state: which groups are open, which stage and colours are shown, search, and the laid-out scene.
 * `followGraph` lays out again whenever what it depends on changes.
 */
import type { StoreApi } from "zustand";
import type { Device } from "../../../main/contract/views/common.ts";
import type { OverlayKind, OverlayView, PassView } from "../../../main/contract/views/graph.ts";
import { allGroups, classify } from "../../graph/fold.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { createGraphModel, groupPath, pathOf } from "../../graph/graphModel.ts";
import type { LayoutClient } from "../../graph/layoutClient.ts";
import type { Scene } from "../../graph/scene.ts";
import { ownOverlay } from "../../graph/ownColumns.ts";
import { parseQuery, searchNodes } from "../../graph/search.ts";
import type { Async } from "../../session/async.ts";
import { current, failed, IDLE, loading, ready } from "../../session/async.ts";
import type { SessionState, SliceTools } from "../../session/sessionSlice.ts";

export type StageChoice =
  { readonly kind: "legal" } | { readonly kind: "initial" } | { readonly kind: "pass"; readonly index: number };

/** A scene with what it was made from: numbers in one are good only in the other. */
export interface Picture {
  readonly model: GraphModel;
  readonly classes: Uint32Array;
  readonly scene: Scene;
  readonly serial: number;
}

/** What the viewport should do when the next picture is there. */
export interface ViewRequest {
  readonly kind: "top" | "fit" | "fitSelection" | "showNode" | "showGroup" | "zoomIn" | "zoomOut";
  readonly ref: number;
  readonly serial: number;
}

export interface GraphSlice {
  readonly graphMode: OverlayKind;
  readonly graphStage: StageChoice;
  readonly stageGraph: Async<GraphModel>;
  readonly overlay: Async<OverlayView>;
  readonly openGroups: ReadonlySet<number>;
  readonly picture: Async<Picture>;
  readonly isolated: Device | null;
  readonly graphQuery: string;
  readonly graphHits: readonly number[];
  readonly graphHitAt: number;
  readonly viewRequest: ViewRequest | null;
  /** A group whose place on the screen must not change while it opens. */
  readonly anchorGroup: number | null;
  readonly passChoices: readonly Pick<PassView, "index" | "name" | "changed">[];

  readonly setGraphMode: (mode: OverlayKind) => void;
  readonly setGraphStage: (stage: StageChoice) => void;
  readonly toggleGroup: (group: number) => void;
  readonly closeGroups: (groups: readonly number[]) => void;
  readonly expandAll: () => void;
  readonly foldAll: () => void;
  readonly isolate: (device: Device) => void;
  readonly setGraphQuery: (text: string) => void;
  readonly nextHit: (step: 1 | -1) => void;
  readonly showNode: (node: number) => void;
  readonly showGroup: (group: number) => void;
  readonly requestView: (kind: ViewRequest["kind"], ref?: number) => void;
}

type State = SessionState & GraphSlice;

export function createGraphSlice({ engine, set, get }: SliceTools<State>): GraphSlice {
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
    if (shown === null || target === null || (state.graphStage.kind === "legal" && isRouteMode(state.graphMode))) {
      set({ overlay: IDLE });
      return;
    }
    const own = ownOverlay(shown, state.graphMode);
    if (own !== null) {
      set({ overlay: ready(own) });
      return;
    }
    set({ overlay: loading(state.overlay) });
    try {
      const overlay = await engine.call("graph.overlay", { key: shown.view.key, kind: state.graphMode, target });
      if (mine === overlays) set({ overlay: ready(overlay) });
    } catch (error) {
      if (mine === overlays) set({ overlay: failed(error) });
    }
  };

  const loadStage = async (stage: StageChoice): Promise<void> => {
    stages += 1;
    const mine = stages;
    const model = current(get().model);
    if (model === null || stage.kind === "legal") {
      set({ stageGraph: IDLE });
      await loadOverlay();
      return;
    }
    set({ stageGraph: loading(get().stageGraph) });
    try {
      const view = await engine.call("graph.get", { model: model.model, stage, phase: get().phase });
      if (mine !== stages) return;
      set({ stageGraph: ready(createGraphModel(view)) });
      await loadOverlay();
    } catch (error) {
      if (mine === stages) set({ stageGraph: failed(error) });
    }
  };

  const select = (node: number): void => {
    const shown = current(shownGraph(get()));
    if (shown !== null) get().select({ kind: "node", key: shown.view.key, node });
  };

  return {
    graphMode: "device",
    graphStage: { kind: "legal" },
    stageGraph: IDLE,
    overlay: IDLE,
    openGroups: new Set(),
    picture: IDLE,
    isolated: null,
    graphQuery: "",
    graphHits: [],
    graphHitAt: -1,
    viewRequest: null,
    anchorGroup: null,
    passChoices: [],
    setGraphMode(graphMode) {
      set({ graphMode });
      void loadOverlay();
    },
    setGraphStage(graphStage) {
      set({ graphStage, openGroups: new Set(), graphHits: [], graphHitAt: -1, anchorGroup: null });
      get().select({ kind: "none" });
      void loadStage(graphStage);
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
      if (shown !== null) set({ openGroups: allGroups(shown), anchorGroup: null });
      requestView("fit");
    },
    foldAll() {
      set({ openGroups: new Set(), anchorGroup: null });
      requestView("top");
    },
    isolate: (device) => set({ isolated: get().isolated === device ? null : device }),
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

export const isRouteMode = (mode: OverlayKind): boolean => mode === "device" || mode === "segment";

export function shownGraph(state: State): Async<GraphModel> {
  return state.graphStage.kind === "legal" ? state.graph : state.stageGraph;
}

/** Device and work per node, when the route speaks about the graph that is shown. */
export function routeColumns(state: State): { readonly device: Uint8Array | null; readonly work: Float32Array | null } {
  const route = current(state.routes[state.phase]);
  const shown = current(shownGraph(state));
  if (state.graphStage.kind !== "legal" || route === null || shown?.view.nodeCount !== route.nodes.device.length)
    return { device: null, work: null };
  return { device: route.nodes.device, work: route.nodes.work };
}

/** Lays out again when the graph, the route or what is open changes; one layout at a time, the last wish wins. */
export function followGraph(store: StoreApi<State>, layout: LayoutClient): () => void {
  let serial = 0;
  const run = async (): Promise<void> => {
    const state = store.getState();
    const shown = shownGraph(state);
    const model = current(shown);
    if (model === null) {
      store.setState({ picture: shown.kind === "failed" ? shown : IDLE });
      return;
    }
    const classes = classify(model, routeColumns(state).device);
    store.setState({ picture: loading(state.picture) });
    try {
      const scene = await layout.layout(model, { open: state.openGroups, classes });
      if (scene === null) return;
      serial += 1;
      store.setState({ picture: ready({ model, classes, scene, serial }) });
    } catch (error) {
      store.setState({ picture: failed(error) });
    }
  };
  const inputs = (state: State) => [
    state.graph,
    state.stageGraph,
    state.graphStage,
    state.openGroups,
    state.routes[state.phase],
  ];
  let before: readonly unknown[] = [];
  return store.subscribe((state) => {
    const now = inputs(state);
    if (now.every((value, i) => value === before[i])) return;
    const otherModel = before[0] !== now[0] && state.graph.kind === "idle";
    before = now;
    // A closed model takes what was open and searched with it.
    if (otherModel) {
      store.setState({
        openGroups: new Set(),
        graphQuery: "",
        graphHits: [],
        graphStage: { kind: "legal" },
        stageGraph: IDLE,
        overlay: IDLE,
        isolated: null,
      });
      return;
    }
    if (state.graph.kind === "loading" && state.graph.previous === null) return;
    void run();
  });
}
