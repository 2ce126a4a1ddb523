/**
 * The graph tab's state: which groups are open, which stage and colours are shown, search, and the laid-out scene.
 * `followGraph` lays out again whenever what it depends on changes.
 */
import type { StoreApi } from "zustand";
import type { Device } from "../../../main/contract/views/common.ts";
import type { OverlayKind, OverlayView, PassDiff, PassView, Stage } from "../../../main/contract/views/graph.ts";
import { allGroups, classify, classifyRoughly } from "../../graph/fold.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { createGraphModel, groupPath, pathOf } from "../../graph/graphModel.ts";
import { ROOMY } from "../../graph/layout.ts";
import type { LayoutRoom } from "../../graph/layout.ts";
import type { LayoutClient } from "../../graph/layoutClient.ts";
import type { Scene } from "../../graph/scene.ts";
import { ownOverlay } from "../../graph/ownColumns.ts";
import { parseQuery, searchNodes } from "../../graph/search.ts";
import type { Async } from "../../session/async.ts";
import { current, failed, IDLE, loading, ready } from "../../session/async.ts";
import type { SessionState, SliceTools } from "../../session/sessionSlice.ts";
import type { Changes, Side } from "./changes.ts";
import { changesOn, nextRegion } from "./changes.ts";
import type { KeptView } from "./view.ts";

/** A pass is looked at from either side: the graph that it was given, the graph that it made. */
export type StageChoice =
  | { readonly kind: "legal" }
  | { readonly kind: "initial" }
  | { readonly kind: "pass"; readonly index: number; readonly side: Side };

/** Passes count from one: before the first stands the graph as built. */
export function stageOf(choice: Exclude<StageChoice, { kind: "legal" }>): Stage {
  if (choice.kind === "initial") return { kind: "initial" };
  const index = choice.side === "after" ? choice.index : choice.index - 1;
  return index < 1 ? { kind: "initial" } : { kind: "pass", index };
}

/** A scene with what it was made from: numbers in one are good only in the other. */
export interface Picture {
  readonly model: GraphModel;
  readonly classes: Uint32Array;
  readonly rough: Uint32Array;
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
  /** What the chosen pass did; null without one. */
  readonly stageDiff: PassDiff | null;
  readonly stageChanges: Changes | null;
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
  readonly graphRoom: LayoutRoom;
  /** Where the view was when the graph was last on the screen, and of which graph. */
  readonly keptView: { readonly model: GraphModel; readonly view: KeptView } | null;

  readonly setGraphMode: (mode: OverlayKind) => void;
  readonly setGraphStage: (stage: StageChoice) => void;
  /** Opens the graph on what a pass did. */
  readonly showPass: (index: number) => void;
  readonly setPassSide: (side: Side) => void;
  readonly nextChange: (step: 1 | -1) => void;
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
  /** The canvas tells how large it is: a small one gets narrower cards, a map the shape of the canvas. */
  readonly setCanvasSize: (width: number, height: number) => void;
  readonly keepView: (model: GraphModel, view: KeptView) => void;
}

/** A canvas below this in either direction is a small one. */
const SMALL = { width: 680, height: 520 } as const;
/** What the bars and panes around the canvas take, for a first guess before it is measured. */
const AROUND = { width: 420, height: 150 } as const;

export function roomFor(width: number, height: number, map: boolean): LayoutRoom {
  const aspect = Math.max(0.5, Math.min(4, width / Math.max(1, height)));
  return { compact: width < SMALL.width || height < SMALL.height, map, aspect: Math.round(aspect * 8) / 8 };
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
    const { phase, target } = get();
    const model = current(get().model);
    if (model === null || stage.kind === "legal") {
      set({ stageGraph: IDLE, stageDiff: null, stageChanges: null });
      await loadOverlay();
      return;
    }
    set({ stageGraph: loading(get().stageGraph) });
    try {
      const [view, diff] = await Promise.all([
        engine.call("graph.get", { model: model.model, stage: stageOf(stage), phase }),
        stage.kind === "pass" && target !== null
          ? engine.call("passes.diff", { model: model.model, phase, target, index: stage.index, full: false })
          : null,
      ]);
      if (mine !== stages) return;
      const shown = createGraphModel(view);
      set({
        stageGraph: ready(shown),
        stageDiff: diff,
        stageChanges: diff === null || stage.kind !== "pass" ? null : changesOn(shown, diff, stage.side),
      });
      await loadOverlay();
    } catch (error) {
      if (mine === stages) set({ stageGraph: failed(error), stageDiff: null, stageChanges: null });
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
    stageDiff: null,
    stageChanges: null,
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
      set({ graphStage, openGroups: new Set(), graphHits: [], graphHitAt: -1, anchorGroup: null });
      get().select({ kind: "none" });
      void loadStage(graphStage);
    },
    showPass(index) {
      get().setTab("graph");
      get().setGraphStage({ kind: "pass", index, side: "after" });
    },
    setPassSide(side) {
      const { graphStage } = get();
      if (graphStage.kind !== "pass" || graphStage.side === side) return;
      // The same groups stay open: both sides are looked at in the same place.
      const open = openNames(get());
      set({ graphStage: { ...graphStage, side }, graphHits: [], graphHitAt: -1, anchorGroup: null });
      get().select({ kind: "none" });
      void loadStage({ ...graphStage, side }).then(() => {
        const shown = current(get().stageGraph);
        if (shown !== null) set({ openGroups: groupsNamed(shown, open) });
      });
    },
    nextChange(step) {
      const { stageChanges, selection } = get();
      if (stageChanges === null) return;
      const node = nextRegion(stageChanges.regions, selection.kind === "node" ? selection.node : -1, step);
      if (node !== null) get().showNode(node);
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

/** Groups have other numbers in every stage; their paths are the same. */
const pathName = (model: GraphModel, group: number): string =>
  groupPath(model.view, group)
    .map((each) => model.view.strings[model.view.groups.name[each] ?? 0] ?? "")
    .join("/");

function openNames(state: State): ReadonlySet<string> {
  const shown = current(shownGraph(state));
  return new Set(shown === null ? [] : [...state.openGroups].map((group) => pathName(shown, group)));
}

function groupsNamed(model: GraphModel, names: ReadonlySet<string>): ReadonlySet<number> {
  return new Set([...model.view.groups.parent.keys()].filter((group) => names.has(pathName(model, group))));
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

/** Which groups have equal hashes, whatever these are. */
function sameness(hashes: Uint32Array): string {
  const numbers = new Map<number, number>();
  return Array.from(hashes, (hash) => {
    const known = numbers.get(hash) ?? numbers.size;
    numbers.set(hash, known);
    return known;
  }).join();
}

/** Lays out again when the graph, the route or what is open changes; one layout at a time, the last wish wins. */
export function followGraph(store: StoreApi<State>, layout: LayoutClient): () => void {
  let serial = 0;
  let laid: readonly unknown[] = [];
  const run = async (): Promise<void> => {
    const state = store.getState();
    const shown = shownGraph(state);
    const model = current(shown);
    if (model === null) {
      laid = [];
      store.setState({ picture: shown.kind === "failed" ? shown : IDLE });
      return;
    }
    const { device } = routeColumns(state);
    const classes = classify(model, device);
    const rough = classifyRoughly(model, device);
    // Another target that leaves every box where it is changes colours only.
    const asked = [model, state.openGroups, classes.join(), sameness(rough), JSON.stringify(state.graphRoom)];
    if (state.picture.kind !== "failed" && asked.every((value, i) => value === laid[i])) return;
    laid = asked;
    store.setState({ picture: loading(state.picture) });
    try {
      const scene = await layout.layout(model, { open: state.openGroups, classes, rough }, state.graphRoom);
      if (scene === null) return;
      serial += 1;
      store.setState({ picture: ready({ model, classes, rough, scene, serial }) });
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
    // The shape of the canvas matters to a map only.
    JSON.stringify({ ...state.graphRoom, aspect: state.graphRoom.map ? state.graphRoom.aspect : 0 }),
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
        stageDiff: null,
        stageChanges: null,
        keptView: null,
        overlay: IDLE,
        isolated: null,
        graphRoom: { ...state.graphRoom, map: false },
      });
      return;
    }
    if (state.graph.kind === "loading" && state.graph.previous === null) return;
    void run();
  });
}
