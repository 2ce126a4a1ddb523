/** To an op of the legal graph: the graph tab, at the stage that routes speak about. */
import { useCallback } from "react";
import { isRouted } from "../../main/contract/views/graph.ts";
import { LEGAL_STAGE } from "../features/graph/graphState.ts";
import { useWorkbenchApi } from "./useWorkbench.ts";

export function useShowNode(): (node: number) => void {
  const api = useWorkbenchApi();
  return useCallback(
    (node: number) => {
      const { graphStage, setGraphStage, setTab } = api.getState();
      if (!isRouted(graphStage)) setGraphStage(LEGAL_STAGE);
      api.getState().showNode(node);
      setTab("graph");
    },
    [api],
  );
}
