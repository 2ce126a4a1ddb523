/** Vectors of texts, and documents sorted by a query. */
import { EmbedTab } from "../features/embed/EmbedTab.tsx";
import type { WorkbenchTab } from "../shell/tabs.ts";

export const tab: WorkbenchTab = {
  isShown: ({ embedder }) => embedder !== null,
  View: EmbedTab,
  work: { isBusy: ({ embedRunning }) => embedRunning !== null, stop: ({ stopEmbed }) => stopEmbed() },
};
