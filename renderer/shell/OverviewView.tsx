/** The overview with the cards of the routing view in it. */
import type { ReactNode } from "react";
import { Overview } from "../features/overview/Overview.tsx";
import { MlxCard } from "../features/route/MlxCard.tsx";
import { PlannedCard } from "../features/route/PlannedCard.tsx";
import { useShowNode } from "./useShowNode.ts";

export function OverviewView(): ReactNode {
  const showNode = useShowNode();
  return (
    <Overview>
      <PlannedCard onNode={showNode} />
      <MlxCard onNode={showNode} />
    </Overview>
  );
}
