/**
 * The tabs of the window, in the order of the contract's list. What a tab is stands in the file of its name in renderer/tabs;
 * nothing else lists them.
 */
import type { Tab } from "../../main/contract/commands.ts";
import { TABS } from "../../main/contract/commands.ts";
import type { Overview } from "../../main/contract/views/model.ts";
import { invariant } from "../../main/diagnostics/errors.ts";
import { current } from "../session/async.ts";
import type { TabDescriptor } from "../session/tab.ts";
import type { WorkbenchState } from "./store.ts";

export type WorkbenchTab = TabDescriptor<WorkbenchState>;

const files = import.meta.glob<WorkbenchTab>("../tabs/*.tsx", { eager: true, import: "tab" });

export function tabOf(id: Tab): WorkbenchTab {
  const found = files[`../tabs/${id}.tsx`];
  invariant(found, `[tabs] ${id} has no file in renderer/tabs`);
  return found;
}

/** The tabs that the open model has. */
export function shownTabs(state: Pick<WorkbenchState, "model">): readonly Tab[] {
  const model: Overview | null = current(state.model);
  return model === null ? [] : TABS.map(({ id }) => id).filter((id) => tabOf(id).isShown(model));
}

/** Something that Stop ends. */
export const isBusy = (state: WorkbenchState): boolean => TABS.some(({ id }) => tabOf(id).work?.isBusy(state) === true);

export function stopWork(state: WorkbenchState): void {
  for (const { id } of TABS) tabOf(id).work?.stop(state);
}
