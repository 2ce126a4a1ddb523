/** Which groups are open, and the way from box to box. */
import { allGroups } from "../../graph/fold.ts";
import { groupPath, pathOf } from "../../graph/graphModel.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import { current } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import type { GraphSlice } from "./graphState.ts";
import { shownGraph } from "../../drawing/pictureState.ts";
import { nextLevel } from "./view.ts";
import { neighbour, selectedBox } from "../../drawing/walk.ts";

type GroupActions = Pick<
  GraphSlice,
  | "selectBox"
  | "walk"
  | "goUp"
  | "toggleGroup"
  | "closeGroups"
  | "expandAll"
  | "foldAll"
  | "fit"
  | "showNode"
  | "showGroup"
>;

export function groupActions({ set, get, on }: SliceTools<GraphSlice>): GroupActions {
  const setMap = (map: boolean): void => set({ anchorGroup: null, graphRoom: { ...get().graphRoom, map } });
  const openAlso = (groups: readonly number[]): void =>
    set({ openGroups: new Set([...get().openGroups, ...groups]), anchorGroup: null });
  on("nodeKept", (node) => {
    const shown = current(shownGraph(get()));
    if (shown === null || node >= shown.view.nodeCount) return;
    openAlso(pathOf(shown.view, node));
    get().requestView("showNode", node);
  });
  return {
    selectBox(box) {
      const picture = current(get().picture);
      if (picture === null) return;
      const { scene, model } = picture;
      const ref = scene.ref[box] ?? 0;
      if (box < 0) get().select({ kind: "none" });
      else if (scene.kind[box] === BOX_KINDS.op) get().select({ kind: "node", key: model.view.key, node: ref });
      else get().select({ kind: "group", group: ref });
    },
    walk(direction) {
      const picture = current(get().picture);
      if (picture === null) return;
      const next = neighbour(picture.scene, selectedBox(picture, get().selection), direction);
      if (next < 0) return;
      get().selectBox(next);
      get().requestView("reveal", next);
    },
    goUp() {
      const { selection, openGroups } = get();
      const shown = current(shownGraph(get()));
      if (shown === null) return;
      const { groups, nodes } = shown.view;
      const parentOf = (group: number): number => groups.parent[group] ?? -1;
      let group = -1;
      if (selection.kind === "node") group = nodes.group[selection.node] ?? -1;
      if (selection.kind === "group")
        group = openGroups.has(selection.group) ? selection.group : parentOf(selection.group);
      while (group > 0 && !openGroups.has(group)) group = parentOf(group);
      if (group > 0) {
        get().closeGroups([group]);
        get().select({ kind: "group", group });
      } else get().select({ kind: "none" });
    },
    toggleGroup(group) {
      const openGroups = new Set(get().openGroups);
      if (!openGroups.delete(group)) openGroups.add(group);
      set({ openGroups, anchorGroup: group });
    },
    closeGroups(groups) {
      const openGroups = new Set(get().openGroups);
      for (const group of groups) openGroups.delete(group);
      set({ openGroups, anchorGroup: groups[0] ?? null });
    },
    expandAll() {
      const shown = current(shownGraph(get()));
      if (shown !== null) {
        set({ openGroups: allGroups(shown) });
        setMap(true);
      }
      get().requestView("fit");
    },
    foldAll() {
      set({ openGroups: new Set() });
      setMap(false);
      get().requestView("top");
    },
    fit() {
      const picture = current(get().picture);
      const more = picture === null ? [] : nextLevel(picture, get().canvasSize);
      if (more.length > 0) openAlso(more);
      get().requestView("fit");
    },
    showNode(node) {
      const shown = current(shownGraph(get()));
      if (shown === null || node >= shown.view.nodeCount) return;
      openAlso(pathOf(shown.view, node));
      get().select({ kind: "node", key: shown.view.key, node });
      get().requestView("showNode", node);
    },
    showGroup(group) {
      const shown = current(shownGraph(get()));
      if (shown === null) return;
      openAlso(groupPath(shown.view, group).slice(0, -1));
      get().select({ kind: "group", group });
      get().requestView("showGroup", group);
    },
  };
}
