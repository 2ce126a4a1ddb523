/** Search in the graph that is shown, and the way from hit to hit. */
import { parseQuery, searchNodes } from "../../graph/search.ts";
import { current } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { GraphSlice } from "./graphState.ts";
import { routeColumns, shownGraph } from "../../drawing/pictureState.ts";

export function searchActions({
  set,
  get,
  watch,
}: SliceTools<GraphSlice>): Pick<GraphSlice, "setGraphQuery" | "nextHit" | "goToHit"> {
  // Hits belong to a graph and its route.
  watch(
    (state) => [current(shownGraph(state)), state.routes[state.phase]],
    () => {
      const { graphQuery } = get();
      if (graphQuery !== "") get().setGraphQuery(graphQuery);
    },
  );
  return {
    setGraphQuery(graphQuery) {
      const shown = current(shownGraph(get()));
      const graphHits = shown === null ? [] : searchNodes(shown, parseQuery(graphQuery), routeColumns(get()));
      set({ graphQuery, graphHits, graphHitAt: -1 });
    },
    nextHit(step) {
      const { graphHits, graphHitAt: before } = get();
      const { length } = graphHits;
      if (length === 0) return;
      get().goToHit(before < 0 && step < 0 ? length - 1 : (before + step + length) % length);
    },
    goToHit(graphHitAt) {
      const node = get().graphHits[graphHitAt];
      if (node === undefined) return;
      set({ graphHitAt });
      get().showNode(node);
    },
  };
}
