/** A conversation or a completion; for a demo graph, one run through its segments. */
import type { ReactNode } from "react";
import { WhereCard } from "../features/profile/WhereCard.tsx";
import { RunInspector } from "../features/run/RunInspector.tsx";
import { RunTab } from "../features/run/RunTab.tsx";
import { useRun } from "../features/run/useRun.ts";
import { GraphRun, GraphRunCard } from "../features/text/GraphRun.tsx";
import { TemplateTools } from "../features/template/TemplateTools.tsx";
import { current } from "../session/async.ts";
import { useCanRun } from "../session/useCanRun.ts";
import type { WorkbenchTab } from "../shell/tabs.ts";

function Inspector({ children }: { readonly children: ReactNode }): ReactNode {
  const isText = useRun((s) => current(s.model)?.kind === "text");
  const canRun = useCanRun();
  if (isText) return <GraphRunCard />;
  return canRun ? (
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
  const precision = useRun((s) => s.parameters.precision);
  const cacheType = useRun((s) => s.parameters.cacheType);
  return <TemplateTools session={{ device, context, precision, ...(cacheType !== null && { cacheType }) }} />;
}

/** A graph in text has runs of its own. */
function View(): ReactNode {
  const isText = useRun((s) => current(s.model)?.kind === "text");
  return isText ? <GraphRun /> : <RunTab />;
}

export const tab: WorkbenchTab = {
  isShown: ({ canGraph }) => canGraph.ok,
  View,
  Inspector,
  work: {
    isBusy: ({ running, hybrid, graphRunning }) =>
      running !== null || hybrid.kind === "loading" || graphRunning !== null,
    stop(state) {
      state.stop();
      state.stopHybrid();
      state.stopGraph();
    },
  },
};
