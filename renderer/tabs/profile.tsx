/** Where the time of a token goes. */
import { isGraphAlone } from "../../main/contract/views/model.ts";
import type { ReactNode } from "react";
import { ExpertsCard } from "../features/experts/ExpertsCard.tsx";
import { ProfileInspector } from "../features/profile/ProfileInspector.tsx";
import { ProfileTab } from "../features/profile/ProfileTab.tsx";
import { useCanRun } from "../session/useCanRun.ts";
import { useShowNode } from "../shell/useShowNode.ts";
import type { WorkbenchTab } from "../shell/tabs.ts";

function Inspector({ children }: { readonly children: ReactNode }): ReactNode {
  const showNode = useShowNode();
  if (!useCanRun()) return children;
  return (
    <>
      <ExpertsCard />
      <ProfileInspector onNode={showNode} />
    </>
  );
}

export const tab: WorkbenchTab = {
  isShown: ({ kind, canGraph }) => canGraph.ok && !isGraphAlone(kind),
  View: ProfileTab,
  Inspector,
  work: {
    isBusy: ({ profile, experts }) => profile.kind === "loading" || experts.kind === "loading",
    stop: ({ stopProfile, stopExperts }) => {
      stopProfile();
      stopExperts();
    },
  },
};
