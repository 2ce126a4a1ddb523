/** What a tab is: one file in renderer/tabs with its name, and its line in the list of main/contract/commands.ts. */
import type { ComponentType, ReactNode } from "react";
import type { Overview } from "../../main/contract/views/model.ts";
import type { SessionState } from "./sessionSlice.ts";

export interface TabDescriptor<S = SessionState> {
  /** Whether a model has this tab; what does not exist is not shown. */
  readonly isShown: (model: Overview) => boolean;
  readonly View: ComponentType;
  /** Beside the view; `children` is the inspector of the selection, which a tab shows where it has nothing of its own. */
  readonly Inspector?: ComponentType<{ readonly children: ReactNode }>;
  /** Work of this tab that Stop ends. */
  readonly work?: { readonly isBusy: (state: S) => boolean; readonly stop: (state: S) => void };
}
