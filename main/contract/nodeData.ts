/**
 * Numbers for the nodes of a graph as the text of a JSON file, in the form of Model Explorer's node data:
 *   { "<graph>": { "results": { "<node>": { "value": 1.5 } }, "gradient": [{ "stop": 0, "bgColor": "#00204d" }, …] } }
 * Window and command line write the same.
 */
import { heatColor } from "./heat.ts";
import type { GraphView } from "./views/graph.ts";
import { NODE_FLAGS } from "./views/graph.ts";

/** What stays the same across stages for a node that survives. */
export const nodeKey = ({ nodes }: GraphView, node: number): string => String(nodes.id[node] ?? 0);

/** "blk.7/attention/q" */
export function nodePath({ strings, nodes, groups }: GraphView, node: number): string {
  const path = [strings[nodes.name[node] ?? 0] ?? ""];
  // Group 0 is the model. What came from elsewhere may turn in circles.
  for (let at = nodes.group[node] ?? 0; at > 0 && path.length <= groups.parent.length; at = groups.parent[at] ?? 0) {
    const name = strings[groups.name[at] ?? 0] ?? "";
    if (name !== "blocks") path.unshift(name);
  }
  return path.join("/");
}

const VALUES = NODE_FLAGS.param | NODE_FLAGS.constant;

/** A column as such a file, keyed by id. Parameters and constants, and what has no number, are left out. */
export function nodeDataText(view: GraphView, values: ArrayLike<number>): string {
  const results: { [node: string]: { readonly value: number; readonly name: string } } = {};
  for (let node = 0; node < view.nodeCount; node++) {
    const value = values[node] ?? Number.NaN;
    if (((view.nodes.flags[node] ?? 0) & VALUES) !== 0 || !Number.isFinite(value)) continue;
    results[nodeKey(view, node)] = { value, name: nodePath(view, node) };
  }
  const gradient = [0, 0.25, 0.5, 0.75, 1].map((stop) => ({ stop, bgColor: hexOf(heatColor(stop)) }));
  return `${JSON.stringify({ [view.title]: { results, gradient } }, null, 1)}\n`;
}

const hexOf = (rgb: string): string =>
  `#${(rgb.match(/\d+/g) ?? []).map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
