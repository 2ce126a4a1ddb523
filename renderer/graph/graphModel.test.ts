import { expect, it } from "vitest";
import type { GraphView } from "../../main/contract/views/graph.ts";
import { decoderGraph, QWEN_SHAPE } from "../engine/fake/decoder.ts";
import { childrenOf, createGraphModel, groupCode } from "./graphModel.ts";

const KEY = { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;

/** By definition: all items of a group, sorted by where they begin. */
function slowChildren(view: GraphView, group: number): number[] {
  const items: { at: number; code: number }[] = [];
  for (let each = 1; each < view.groups.parent.length; each++)
    if (view.groups.parent[each] === group && each !== group)
      items.push({ at: (view.groups.firstNode[each] ?? 0) - 0.5, code: groupCode(each) });
  for (let node = 0; node < view.nodeCount; node++)
    if (view.nodes.group[node] === group) items.push({ at: node, code: node });
  return items.sort((a, b) => a.at - b.at || a.code - b.code).map(({ code }) => code);
}

it("lists the items of each group in program order, however groups and nodes are mixed", () => {
  const view = decoderGraph({ ...QWEN_SHAPE, layers: 3, oddLayers: [1] }, KEY);
  const groups = view.groups.parent.length;
  // Every node in some other group, every group beginning anywhere, empty ones and ones that begin together among them.
  const mixed = {
    ...view,
    nodes: { ...view.nodes, group: view.nodes.group.map((_, node) => (node * 7) % groups) },
    groups: { ...view.groups, firstNode: view.groups.firstNode.map((_, group) => (group * 5) % 11) },
  };
  for (const each of [view, mixed]) {
    const model = createGraphModel(each);
    for (let group = 0; group < groups; group++)
      expect([...childrenOf(model, group)]).toEqual(slowChildren(each, group));
  }
});
