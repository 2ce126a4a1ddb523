/** The model as a Core ML package. */
import { ExportTab } from "../features/export/ExportTab.tsx";
import type { WorkbenchTab } from "../shell/tabs.ts";

export const tab: WorkbenchTab = {
  isShown: () => true,
  View: ExportTab,
  work: { isBusy: ({ exportRunning }) => exportRunning, stop: ({ stopExport }) => stopExport() },
};
