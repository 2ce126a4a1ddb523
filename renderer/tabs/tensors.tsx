/** Every tensor of the file. */
import type { ReactNode } from "react";
import { TensorInspector } from "../features/tensors/TensorInspector.tsx";
import { TensorsTab } from "../features/tensors/TensorsTab.tsx";
import { useSession } from "../session/context.tsx";
import { useShowNode } from "../shell/useShowNode.ts";
import type { WorkbenchTab } from "../shell/tabs.ts";

function Inspector({ children }: { readonly children: ReactNode }): ReactNode {
  const tensor = useSession((state) => state.chosenTensor);
  const showNode = useShowNode();
  return tensor === null ? children : <TensorInspector tensor={tensor} onNode={showNode} />;
}

export const tab: WorkbenchTab = {
  isShown: ({ file }) => file !== null,
  View: TensorsTab,
  Inspector,
  work: {
    isBusy: ({ checkRunning, againstRunning }) => checkRunning || againstRunning,
    stop: ({ stopCheck, stopAgainst }) => {
      stopCheck();
      stopAgainst();
    },
  },
};
