/** Two models, or one on two targets, against each other. */
import { CompareTab } from "../features/compare/CompareTab.tsx";
import type { WorkbenchTab } from "../shell/tabs.ts";

export const tab: WorkbenchTab = {
  isShown: () => true,
  View: CompareTab,
  work: { isBusy: ({ comparing }) => comparing !== null, stop: ({ stopComparing }) => stopComparing() },
};
