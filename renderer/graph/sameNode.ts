/**
 * The node of another graph of the model that stands for the same operation. Ids say it where the graphs were built alike; where
 * they were not (caches in other floats), or where the op was taken into a fused one, its place and its name do.
 */
import { NODE_FLAGS, sourceOf } from "../../main/contract/views/graph.ts";
import type { GraphView, NodeView } from "../../main/contract/views/graph.ts";
import { displayName, groupName, nodeName, opName, pathOf } from "./graphModel.ts";

/** What is kept of a node when its graph goes. */
export interface NodeSign {
  readonly id: number;
  readonly op: string;
  readonly name: string;
  /** Names of the groups around it, the model's own first. */
  readonly path: readonly string[];
}

export const signOf = (view: GraphView, node: number): NodeSign => ({
  id: view.nodes.id[node] ?? -1,
  op: opName(view, node),
  name: nodeName(view, node),
  path: namesOf(view, node),
});

/** The same from what the inspector knows of it, where its graph is not at hand. */
export const signOfView = ({ id, op, name, path }: NodeView): NodeSign => ({
  ...{ id, op, name },
  path: ["", ...(path === "" ? [] : path.split(" · ").map(displayName))],
});

const namesOf = (view: GraphView, node: number): readonly string[] =>
  pathOf(view, node).map((group) => groupName(view, group));

/** -1: nothing there stands for it. */
export function nodeLike(view: GraphView, { id, op, name, path }: NodeSign): number {
  const isFused = (node: number): boolean => ((view.nodes.flags[node] ?? 0) & NODE_FLAGS.fused) !== 0;
  const idOf = (node: number): number => view.nodes.id[node] ?? 0;
  const places = Array.from({ length: view.nodeCount }, (_, node) => node);
  const inGroup = groupsNamed(view, path);
  for (let depth = path.length; depth > 0; depth--) {
    const group = inGroup[depth - 1];
    if (group === undefined) continue;
    const here = places.filter((node) => view.nodes.group[node] === group);
    const found =
      here.find((node) => idOf(node) === id && opName(view, node) === op) ??
      here.find((node) => opName(view, node) === op && nodeName(view, node) === name) ??
      here.find((node) => sourceOf(idOf(node)) === sourceOf(id)) ??
      // A fused op has the id of the first one that it took.
      here.findLast((node) => isFused(node) && sourceOf(idOf(node)) <= sourceOf(id));
    if (found !== undefined) return found;
  }
  return -1;
}

/** The group of each name of a path, from the model inwards; undefined behind the first that is not there. */
function groupsNamed(view: GraphView, path: readonly string[]): readonly (number | undefined)[] {
  const found: (number | undefined)[] = [];
  let parent: number | undefined = -1;
  for (const [depth, name] of path.entries()) {
    parent =
      parent === undefined
        ? undefined
        : Array.from(view.groups.parent.keys()).find(
            // The model's own name is that of its graph, which passes may change.
            (group) => view.groups.parent[group] === parent && (depth === 0 || groupName(view, group) === name),
          );
    found.push(parent);
  }
  return found;
}
