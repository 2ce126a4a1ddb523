/** To an op of the legal graph: the graph tab, at the stage that routes speak about. */
import { useCallback } from "react";
import { useWorkbenchApi } from "./useWorkbench.ts";

export function useShowNode(): (node: number) => void {
  const api = useWorkbenchApi();
  return useCallback(
    (node: number) => {
      const { graphStage, setGraphStage, setTab } = api.getState();
      if (graphStage.kind !== "legal") setGraphStage({ kind: "legal" });
      api.getState().showNode(node);
      setTab("graph");
    },
    [api],
  );
}
