/** The words on a box: an op's name, a group's name, a stack's first and last block; and what is said below it. */
import { groupName, groupWords, nodeName, opName, opsOf } from "../graph/graphModel.ts";
import { BOX_KINDS } from "../graph/lift.ts";
import type { Scene } from "../graph/scene.ts";
import { plural } from "../ui/format.ts";
import type { Picture } from "./graphModes.ts";

export function titleOf({ model, scene }: Picture, box: number): string {
  const { view } = model;
  const ref = scene.ref[box] ?? 0;
  if (scene.kind[box] === BOX_KINDS.op) return opName(view, ref);
  if (scene.kind[box] !== BOX_KINDS.stack) return groupName(view, ref);
  return rangeName(groupName(view, ref), groupName(view, scene.last[box] ?? ref));
}

/** "block 0", "block 6" → "blocks 0 – 6". */
export function rangeName(first: string, last: string): string {
  const a = /^(.*?)[ .]?(\d+)$/.exec(first);
  const b = /(\d+)$/.exec(last);
  return a === null || b === null ? `${first} – ${last}` : `${a[1] ?? ""}s ${a[2] ?? ""} – ${b[1] ?? ""}`;
}

export function subtitleOf({ model, scene }: Picture, box: number, note = ""): string {
  const { view } = model;
  const ref = scene.ref[box] ?? 0;
  const kind = scene.kind[box];
  if (kind === BOX_KINDS.op) {
    const weight = view.strings[view.nodes.weight[ref] ?? 0] ?? "";
    const name = nodeName(view, ref);
    return [name === opName(view, ref) ? "" : name, weight].filter((part) => part !== "").join("  ");
  }
  const ops = plural(opsOf(model, ref), "op");
  if (kind === BOX_KINDS.stack)
    return note === "" ? `${stackSize(scene, model.view.groups.parent, box)} × ${ops}, identical` : note;
  return [groupWords(view, ref), ops, note].filter((part) => part !== "").join(", ");
}

/** Blocks of a stack: siblings from its first to its last group. */
export function stackSize(scene: Scene, parents: Int32Array, box: number): number {
  const [first, last] = [scene.ref[box] ?? 0, scene.last[box] ?? 0];
  let n = 0;
  for (let group = first; group <= last; group++) if (parents[group] === parents[first]) n += 1;
  return n;
}
