/** The graph, where each of its operations runs, and why. */
import { GraphTab } from "../features/graph/GraphTab.tsx";
import type { WorkbenchTab } from "../shell/tabs.ts";

export const tab: WorkbenchTab = {
  isShown: ({ canGraph }) => canGraph.ok,
  View: GraphTab,
};
