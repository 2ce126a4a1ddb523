/** The colours of a mode. Device and segment come with the route, bytes and type with the graph; the rest is asked for. */
import { isRouted } from "../../../main/contract/views/graph.ts";
import { ownOverlay } from "../../graph/ownColumns.ts";
import { createQuestions, current, IDLE, ready } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { GraphSlice } from "./graphState.ts";
import { isLegalMode, isResultMode, isRouteMode } from "../../drawing/graphModes.ts";
import { shownGraph } from "../../drawing/pictureState.ts";

export interface OverlayLoader {
  readonly load: () => Promise<void>;
  readonly drop: () => void;
}

export function createOverlayLoader({ engine, set, get }: SliceTools<GraphSlice>): OverlayLoader {
  const questions = createQuestions();
  return {
    drop: questions.drop,
    async load() {
      questions.drop();
      const state = get();
      const { target, graphMode: kind } = state;
      const shown = current(shownGraph(state));
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
      await questions.ask(
        state.overlay,
        () => engine.call("graph.overlay", { key: shown.view.key, kind, target }),
        (overlay) => {
          if (current(shownGraph(get())) === shown) set({ overlay });
        },
      );
    },
  };
}
