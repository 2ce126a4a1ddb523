/** Training: of what this program brings, and of the open model. */
import { isTraining } from "../features/train/live.ts";
import { TrainInspector } from "../features/train/TrainInspector.tsx";
import { TrainTab } from "../features/train/TrainTab.tsx";
import { current } from "../session/async.ts";
import type { WorkbenchTab } from "../shell/tabs.ts";

export const tab: WorkbenchTab = {
  isShown: () => true,
  View: TrainTab,
  Inspector: TrainInspector,
  work: {
    // It takes long, and other tabs are used meanwhile: their Run and Stop are not about it.
    isBusy: (state) => isTraining(state) && (state.tab === "train" || current(state.model) === null),
    stop: (state) => {
      if (isTraining(state) && (state.tab === "train" || current(state.model) === null)) void state.stopTraining();
    },
  },
};
