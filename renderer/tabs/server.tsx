/** The server for other programs, and what it is asked. */
import { ServerTab } from "../features/server/ServerTab.tsx";
import type { WorkbenchTab } from "../shell/tabs.ts";

export const tab: WorkbenchTab = {
  isShown: ({ kind }) => kind === "model",
  View: ServerTab,
};
