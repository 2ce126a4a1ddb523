/** What the file is, where it will run, whether it fits and how fast it will be. */
import { OverviewView } from "../shell/OverviewView.tsx";
import type { WorkbenchTab } from "../shell/tabs.ts";

export const tab: WorkbenchTab = {
  isShown: () => true,
  View: OverviewView,
};
