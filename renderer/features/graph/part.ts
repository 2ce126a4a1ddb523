/** What a session keeps of the graph: its colours, and the groups that are open, by their paths. */
import { z } from "zod";
import { OVERLAYS } from "../../../main/contract/views/graph.ts";
import { current } from "../../session/async.ts";
import { documentPart } from "../../session/document.ts";
import { groupsNamed, openNames } from "./groupNames.ts";
import type { GraphSlice } from "./graphState.ts";

/** A map of everything is not kept. */
const MOST_OPEN = 2000;

export const graphPart = documentPart<GraphSlice>()({
  name: "graph",
  of: "model",
  schema: z.object({ mode: z.enum(OVERLAYS), open: z.array(z.string().max(1000)).max(MOST_OPEN) }),
  save(state) {
    const mode = OVERLAYS.find((each) => each === state.graphMode);
    const open = state.openGroups.size > MOST_OPEN ? [] : [...openNames(state)];
    return { mode: mode ?? "device", open };
  },
  restore({ mode, open }, { get, set, once }) {
    get().setGraphMode(mode);
    if (open.length === 0) return;
    const model = current(get().model)?.model;
    once("routesSettled", () => {
      const graph = current(get().graph);
      // Another model, or groups that were opened meanwhile.
      if (graph === null || current(get().model)?.model !== model || get().openGroups.size > 0) return;
      set({ openGroups: groupsNamed(graph, new Set(open)), anchorGroup: null });
    });
  },
});
