/** A conversation or a completion; for a demo graph, one run through its segments. */
import type { ReactNode } from "react";
import { WhereCard } from "../features/profile/WhereCard.tsx";
import { RunInspector } from "../features/run/RunInspector.tsx";
import { RunTab } from "../features/run/RunTab.tsx";
import { useRun } from "../features/run/useRun.ts";
import { TemplateTools } from "../features/template/TemplateTools.tsx";
import { useCanRun } from "../session/useCanRun.ts";
import type { WorkbenchTab } from "../shell/tabs.ts";

function Inspector({ children }: { readonly children: ReactNode }): ReactNode {
  return useCanRun() ? (
    <RunInspector>
      <WhereCard />
      <TemplateCard />
    </RunInspector>
  ) : (
    children
  );
}

function TemplateCard(): ReactNode {
  const device = useRun((s) => s.parameters.device);
  const context = useRun((s) => s.parameters.context);
  return <TemplateTools session={{ device, context }} />;
}

export const tab: WorkbenchTab = {
  isShown: ({ canGraph }) => canGraph.ok,
  View: RunTab,
  Inspector,
  work: {
    isBusy: ({ running, hybrid }) => running !== null || hybrid.kind === "loading",
    stop(state) {
      state.stop();
      state.stopHybrid();
    },
  },
};
