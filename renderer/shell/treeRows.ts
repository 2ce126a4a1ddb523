/** The structure tree as rows: the same folding as the canvas, so that either shows what the other does. */
import type { Shown } from "../graph/fold.ts";
import { usualClass } from "../graph/fold.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import { groupKind, groupName, groupNote, nodeName, opName, pathOf, opsOf } from "../graph/graphModel.ts";

export interface TreeRow {
  readonly key: string;
  readonly depth: number;
  readonly title: string;
  readonly aside: string;
  /** null: cannot be opened. */
  readonly open: boolean | null;
  /** What selecting it selects; null for a heading. */
  readonly target:
    { readonly kind: "node"; readonly node: number } | { readonly kind: "group"; readonly group: number } | null;
  /** The last group of a stack. */
  readonly last: number;
}

export function treeRows(model: GraphModel, shown: readonly Shown[], classes: Uint32Array): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const { view } = model;
  const repeatOf = (item: Shown): number => {
    const group = item.kind === "op" ? -1 : item.kind === "stack" ? (item.groups[0] ?? -1) : item.group;
    const parent = group < 0 ? -1 : (view.groups.parent[group] ?? -1);
    return parent >= 0 && groupKind(view, parent) === "repeat" ? parent : -1;
  };
  const walk = (items: readonly Shown[], depth: number): void => {
    let repeat = -1;
    for (const item of items) {
      const now = repeatOf(item);
      if (now >= 0 && now !== repeat) rows.push(repeatRow(model, now, depth));
      repeat = now;
      const own = now >= 0 ? depth + 1 : depth;
      const usual = now >= 0 ? usualClass(model, now, classes) : null;
      rows.push(rowOf(model, item, own, usual, classes));
      if (item.kind === "frame") walk(item.items, own + 1);
    }
  };
  walk(shown, 0);
  return rows;
}

function repeatRow(model: GraphModel, repeat: number, depth: number): TreeRow {
  let blocks = 0;
  for (const parent of model.view.groups.parent) if (parent === repeat) blocks += 1;
  return {
    key: `r${repeat}`,
    depth,
    title: groupName(model.view, repeat),
    aside: `×${blocks}`,
    open: null,
    target: null,
    last: repeat,
  };
}

function rowOf(model: GraphModel, item: Shown, depth: number, usual: number | null, classes: Uint32Array): TreeRow {
  const { view } = model;
  if (item.kind === "op") {
    const name = nodeName(view, item.node);
    const op = opName(view, item.node);
    return {
      key: `n${item.node}`,
      depth,
      title: op,
      aside: name === op ? "" : name,
      open: null,
      target: { kind: "node", node: item.node },
      last: -1,
    };
  }
  const group = item.kind === "stack" ? (item.groups[0] ?? 0) : item.group;
  const last = item.kind === "stack" ? (item.groups.at(-1) ?? group) : group;
  const title =
    item.kind === "stack"
      ? `${shortName(groupName(view, group))} – ${shortName(groupName(view, last))}`
      : usual === null
        ? groupName(view, group)
        : shortName(groupName(view, group));
  const aside =
    usual === null
      ? String(opsOf(model, group))
      : item.kind === "stack"
        ? item.groups.every((each) => classes[each] === classes[group])
          ? "same"
          : "similar"
        : groupNote(view, group) !== "" || classes[group] !== usual
          ? "differs"
          : "same";
  return { key: `g${group}`, depth, title, aside, open: item.kind === "frame", target: { kind: "group", group }, last };
}

/** Under a heading "blocks" the number says it all. */
const shortName = (name: string): string => /^\S+ (\d+)$/.exec(name)?.[1] ?? name;

/** Keys of the rows with an op of a segment in them. */
export function rowsWithin(
  model: GraphModel,
  rows: readonly TreeRow[],
  segments: ArrayLike<number>,
  segment: number,
): ReadonlySet<string> {
  const groups = new Set<number>();
  for (let node = 0; node < model.view.nodeCount; node++)
    if (segments[node] === segment) for (const group of pathOf(model.view, node)) groups.add(group);
  const holds = ({ target, last }: TreeRow): boolean => {
    if (target === null) return false;
    if (target.kind === "node") return segments[target.node] === segment;
    // Between the blocks of a stack lie the numbers of their parts: those hold what their block holds.
    for (let group = target.group; group <= last; group++) if (groups.has(group)) return true;
    return false;
  };
  return new Set(rows.filter(holds).map(({ key }) => key));
}
