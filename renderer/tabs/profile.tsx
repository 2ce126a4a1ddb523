/** Where the time of a token goes. */
import type { ReactNode } from "react";
import { ProfileInspector } from "../features/profile/ProfileInspector.tsx";
import { ProfileTab } from "../features/profile/ProfileTab.tsx";
import { useCanRun } from "../session/useCanRun.ts";
import { useShowNode } from "../shell/useShowNode.ts";
import type { WorkbenchTab } from "../shell/tabs.ts";

function Inspector({ children }: { readonly children: ReactNode }): ReactNode {
  const showNode = useShowNode();
  return useCanRun() ? <ProfileInspector onNode={showNode} /> : children;
}

export const tab: WorkbenchTab = {
  isShown: ({ kind }) => kind !== "demo-graph",
  View: ProfileTab,
  Inspector,
  work: { isBusy: ({ profile }) => profile.kind === "loading", stop: ({ stopProfile }) => stopProfile() },
};
