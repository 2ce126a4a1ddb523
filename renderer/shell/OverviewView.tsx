/** The overview with the cards of the routing view in it, and what other tabs have measured. */
import type { ReactNode } from "react";
import { useMemo } from "react";
import { ROUTED } from "../../main/contract/views/graph.ts";
import { modelName } from "../features/bench/slice.ts";
import { Overview } from "../features/overview/Overview.tsx";
import { MlxCard } from "../features/route/MlxCard.tsx";
import { PlannedCard } from "../features/route/PlannedCard.tsx";
import { current } from "../session/async.ts";
import { useCommands } from "./CommandsContext.ts";
import { measuredSpeed } from "./measuredSpeed.ts";
import { useShowNode } from "./useShowNode.ts";
import { useWorkbench } from "./useWorkbench.ts";

export function OverviewView(): ReactNode {
  const showNode = useShowNode();
  const commands = useCommands();
  const overview = useWorkbench((state) => current(state.model));
  const backend = useWorkbench((state) => state.backend);
  const results = useWorkbench((state) => state.benchResults);
  const runs = useWorkbench((state) => state.runHistory);
  const profile = useWorkbench((state) => state.profiled);
  const measured = useMemo(
    () => (overview === null ? null : measuredSpeed({ results, runs, profile }, modelName(overview))),
    [overview, results, runs, profile],
  );
  return (
    <Overview measured={measured} onReport={commands["file.saveReport"].run}>
      {backend === ROUTED.backend ? (
        <>
          <PlannedCard onNode={showNode} />
          <MlxCard onNode={showNode} />
        </>
      ) : null}
    </Overview>
  );
}
