/** Lays out again whenever what the picture depends on changes, and forgets a model that is closed. */
import type { StoreApi } from "zustand";
import { classify, classifyRoughly } from "../../graph/fold.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import type { LayoutClient } from "../../graph/layoutClient.ts";
import { current, failed, IDLE, loading, ready } from "../../session/async.ts";
import type { GraphState } from "./graphState.ts";
import { isPlacing, isResultMode, LEGAL_STAGE, routeColumns, shownGraph } from "./graphState.ts";

/**
 * Where blocks run decides which of them stand in one stack: the first picture waits for the route for so long, so that nothing
 * moves when it arrives. Of hundreds of blocks it takes longer, and their picture comes without it.
 */
const PATIENCE_MS = 350;
const QUICK_NODES = 5000;

/** One layout at a time; the last wish wins. */
export function followGraph(store: StoreApi<GraphState>, layout: LayoutClient): () => void {
  let serial = 0;
  let asks = 0;
  let laid: readonly unknown[] = [];
  let waited: GraphModel | null = null;
  let patience: ReturnType<typeof setTimeout> | undefined;
  const run = async (): Promise<void> => {
    const state = store.getState();
    const shown = shownGraph(state);
    const model = current(shown);
    clearTimeout(patience);
    if (model === null) {
      // The picture of a closed model may still be on its way.
      asks += 1;
      laid = [];
      store.setState({ picture: shown.kind === "failed" ? shown : IDLE });
      return;
    }
    const quick = model.view.nodeCount <= QUICK_NODES;
    if (quick && waited !== model && current(state.picture) === null && isPlacing(state)) {
      patience = setTimeout(() => {
        waited = model;
        void run();
      }, PATIENCE_MS);
      return;
    }
    const { device } = routeColumns(state);
    const classes = classify(model, device);
    const rough = classifyRoughly(model, device);
    // Another target that leaves every box where it is changes colours only.
    const asked = [model, state.openGroups, classes.join(), sameness(rough), roomKey(state)];
    if (state.picture.kind !== "failed" && asked.every((value, i) => value === laid[i])) return;
    laid = asked;
    asks += 1;
    const mine = asks;
    store.setState({ picture: loading(state.picture) });
    try {
      const scene = await layout.layout(model, { open: state.openGroups, classes, rough }, state.graphRoom);
      if (scene === null || mine !== asks) return;
      serial += 1;
      store.setState({ picture: ready({ model, classes, rough, scene, serial }) });
    } catch (error) {
      if (mine === asks) store.setState({ picture: failed(error) });
    }
  };
  const inputs = (state: GraphState) => [
    state.graph,
    state.stageGraph,
    state.graphStage,
    state.openGroups,
    state.routes[state.phase],
    roomKey(state),
  ];
  let before: readonly unknown[] = [];
  let renewed: readonly unknown[] = [];
  let searched: readonly unknown[] = [];
  /** Stage, colours and hits are about a target, a phase and a graph: when these change, they are asked for again. */
  const renew = (): void => {
    const state = store.getState();
    const about = [state.target, state.phase, state.graph];
    const isSettled = state.graph.kind === "ready" || state.graph.kind === "failed";
    if (isSettled && about.some((value, i) => value !== renewed[i])) {
      renewed = about;
      void state.reloadStage();
    }
    const within = [current(shownGraph(state)), state.routes[state.phase]];
    if (within.every((value, i) => value === searched[i])) return;
    searched = within;
    if (state.graphQuery !== "") state.setGraphQuery(state.graphQuery);
  };
  return store.subscribe((state) => {
    renew();
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
        graphStage: LEGAL_STAGE,
        graphMode: isResultMode(state.graphMode) ? "device" : state.graphMode,
        stageGraph: IDLE,
        stageDiff: null,
        stageChanges: null,
        keptView: null,
        overlay: IDLE,
        isolated: null,
        only: null,
        graphRoom: { ...state.graphRoom, map: false },
      });
      return;
    }
    if (state.graph.kind === "loading" && state.graph.previous === null) return;
    void run();
  });
}

/** The shape of the canvas matters to a map only. */
const roomKey = ({ graphRoom }: GraphState): string =>
  JSON.stringify({ ...graphRoom, aspect: graphRoom.map ? graphRoom.aspect : 0 });

/** Which groups have equal hashes, whatever these are. */
function sameness(hashes: Uint32Array): string {
  const numbers = new Map<number, number>();
  return Array.from(hashes, (hash) => {
    const known = numbers.get(hash) ?? numbers.size;
    numbers.set(hash, known);
    return known;
  }).join();
}
