/** Groups by their paths: they have other numbers in every stage and every session, and the same paths. */
import type { GraphModel } from "../../graph/graphModel.ts";
import { groupPath } from "../../graph/graphModel.ts";
import { current } from "../../session/async.ts";
import type { GraphState } from "./graphState.ts";
import { shownGraph } from "../../drawing/pictureState.ts";

const pathName = ({ view }: GraphModel, group: number): string =>
  groupPath(view, group)
    .map((each) => view.strings[view.groups.name[each] ?? 0] ?? "")
    .join("/");

export function openNames(state: GraphState): ReadonlySet<string> {
  const shown = current(shownGraph(state));
  return new Set(shown === null ? [] : [...state.openGroups].map((group) => pathName(shown, group)));
}

export function groupsNamed(model: GraphModel, names: ReadonlySet<string>): ReadonlySet<number> {
  return new Set([...model.view.groups.parent.keys()].filter((group) => names.has(pathName(model, group))));
}
