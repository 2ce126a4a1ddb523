/** Benchmarks of prefill and decode. */
import { isGraphAlone } from "../../main/contract/views/model.ts";
import type { ReactNode } from "react";
import { BenchInspector } from "../features/bench/BenchInspector.tsx";
import { BenchTab } from "../features/bench/BenchTab.tsx";
import { useCanRun } from "../session/useCanRun.ts";
import type { WorkbenchTab } from "../shell/tabs.ts";

function Inspector({ children }: { readonly children: ReactNode }): ReactNode {
  return useCanRun() ? <BenchInspector /> : children;
}

export const tab: WorkbenchTab = {
  isShown: ({ kind, canGraph }) => canGraph.ok && !isGraphAlone(kind),
  View: BenchTab,
  Inspector,
  work: { isBusy: ({ benchRunning }) => benchRunning !== null, stop: ({ stopBench }) => stopBench() },
};
