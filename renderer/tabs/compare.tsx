/** Two models, or one on two targets, against each other. */
import { CompareView } from "../shell/CompareView.tsx";
import type { WorkbenchTab } from "../shell/tabs.ts";

export const tab: WorkbenchTab = {
  isShown: () => true,
  View: CompareView,
  work: { isBusy: ({ comparing }) => comparing !== null, stop: ({ stopComparing }) => stopComparing() },
};
