/** Lays the graph out again whenever the picture's inputs change: one layout at a time, the last request wins. */
import { classify, classifyRoughly } from "../../graph/fold.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import type { LayoutClient } from "../../graph/layoutClient.ts";
import { current, failed, IDLE, loading, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { GraphSlice, GraphState } from "./graphState.ts";
import { isPlacing, routeColumns, shownGraph } from "../../drawing/pictureState.ts";

/**
 * Where blocks run decides which of them stand in one stack. The first picture waits this long for the route, so that nothing
 * moves when the route arrives. A large graph is shown without it.
 */
const PATIENCE_MS = 350;
const QUICK_NODES = 5000;

export function keepPictureCurrent({ set, get, watch }: SliceTools<GraphSlice>, layout: LayoutClient): void {
  let serial = 0;
  let newest = 0;
  let laidOut: readonly unknown[] = [];
  let waited: GraphModel | null = null;
  let patience: ReturnType<typeof setTimeout> | undefined;

  const layOut = async (): Promise<void> => {
    const state = get();
    const shown = shownGraph(state);
    const model = current(shown);
    if (state.graph.kind === "loading" && state.graph.previous === null) return;
    clearTimeout(patience);
    if (model === null) {
      // The picture of a closed model may still be on its way.
      newest += 1;
      laidOut = [];
      set({ picture: shown.kind === "failed" ? shown : IDLE });
      return;
    }
    const isQuick = model.view.nodeCount <= QUICK_NODES;
    if (isQuick && waited !== model && current(state.picture) === null && isPlacing(state)) {
      patience = setTimeout(() => {
        waited = model;
        void layOut();
      }, PATIENCE_MS);
      return;
    }
    const { device } = routeColumns(state);
    const classes = classify(model, device);
    const rough = classifyRoughly(model, device);
    // Another target that leaves every box where it is changes colours only; its weights change no structure.
    const inputs = [model.children, state.openGroups, classes.join(), sameness(rough), roomKey(state)];
    if (state.picture.kind !== "failed" && inputs.every((value, i) => value === laidOut[i])) return;
    laidOut = inputs;
    newest += 1;
    const mine = newest;
    set({ picture: loading(state.picture) });
    try {
      const scene = await layout.layout(model, { open: state.openGroups, classes, rough }, state.graphRoom);
      if (scene === null || mine !== newest) return;
      serial += 1;
      set({ picture: ready({ model, classes, rough, scene, serial }) });
    } catch (error) {
      if (mine === newest) set({ picture: failed(error) });
    }
  };

  watch(
    (state) => [
      state.graph,
      state.stageGraph,
      state.graphStage,
      state.openGroups,
      state.routes[state.phase],
      roomKey(state),
    ],
    () => void layOut(),
  );
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
