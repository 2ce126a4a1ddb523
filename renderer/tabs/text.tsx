/** The text of a graph that was opened as one. */
import { TextTab } from "../features/text/TextTab.tsx";
import type { WorkbenchTab } from "../shell/tabs.ts";

export const tab: WorkbenchTab = {
  isShown: ({ kind }) => kind === "text",
  View: TextTab,
};
