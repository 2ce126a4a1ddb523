/** The passes of the compiler, one by one. */
import type { ReactNode } from "react";
import { PassInspector } from "../features/pipeline/PassInspector.tsx";
import { PipelineTab } from "../features/pipeline/PipelineTab.tsx";
import { useWorkbench } from "../shell/useWorkbench.ts";
import type { WorkbenchTab } from "../shell/tabs.ts";

function Inspector(): ReactNode {
  const showNode = useWorkbench((state) => state.showNode);
  const setTab = useWorkbench((state) => state.setTab);
  const showPass = useWorkbench((state) => state.showPass);
  const onNode = (node: number): void => {
    showNode(node);
    setTab("graph");
  };
  return <PassInspector onNode={onNode} onGraph={showPass} />;
}

export const tab: WorkbenchTab = {
  isShown: ({ canGraph }) => canGraph.ok,
  View: PipelineTab,
  Inspector,
};
