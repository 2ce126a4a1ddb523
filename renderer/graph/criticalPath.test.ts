import { describe, expect, it } from "vitest";
import type { GraphView } from "../../main/contract/views/graph.ts";
import { seededRandom } from "../../main/testing/random.ts";
import { criticalPath } from "./criticalPath.ts";
import { createGraphModel } from "./graphModel.ts";

/** Nodes that read earlier ones; those in `params` are not drawn. */
function graphOf(sources: readonly (readonly number[])[], params: readonly number[] = []) {
  const count = sources.length;
  const zeros = new Uint32Array(count);
  const view = {
    nodeCount: count,
    edgeCount: sources.flat().length,
    strings: [""],
    nodes: {
      ...{ id: zeros, op: zeros, name: zeros, type: zeros, weight: zeros, group: zeros },
      flags: Uint8Array.from(sources, (_, n) => (params.includes(n) ? 4 : 0)),
    },
    edges: {
      start: Uint32Array.from({ length: count + 1 }, (_, n) => sources.slice(0, n).flat().length),
      source: Uint32Array.from(sources.flat()),
    },
    groups: { parent: Int32Array.of(-1), firstNode: Uint32Array.of(0), nodeCount: Uint32Array.of(count) },
  };
  return createGraphModel(view as unknown as GraphView);
}

const nodesOf = (nodes: Uint8Array): number[] => [...nodes.keys()].filter((node) => nodes[node] === 1);

describe("critical path", () => {
  it("is the chain that takes longest, not the one with most ops", () => {
    const model = graphOf([[], [0], [1], [2], [0], [3, 4]]);
    const { nodes, ops, share } = criticalPath(model, [0.1, 0.1, 0.1, 0.1, 0.5, 0.1]);
    expect(nodesOf(nodes)).toEqual([0, 4, 5]);
    expect(ops).toBe(3);
    expect(share).toBeCloseTo(0.7);
  });

  it("leaves weights out, and is empty in an empty graph", () => {
    expect(nodesOf(criticalPath(graphOf([[], [], [0, 1]], [0]), [9, 1, 1]).nodes)).toEqual([1, 2]);
    expect(criticalPath(graphOf([]), [])).toMatchObject({ ops: 0, share: 0 });
  });

  it("is as long as the longest of all ways", () => {
    const random = seededRandom(3);
    for (let round = 0; round < 100; round++) {
      const sources = Array.from({ length: 9 }, (_, n) =>
        Array.from({ length: n }, (_, from) => from).filter(() => random.integer(3) === 0),
      );
      const work = sources.map(() => 1 + random.integer(20));
      const longest = (node: number): number =>
        (work[node] ?? 0) + Math.max(0, ...(sources[node] ?? []).map((from) => longest(from)));
      const { nodes, share } = criticalPath(graphOf(sources), work);
      const total = work.reduce((a, b) => a + b, 0);
      expect(share * total).toBeCloseTo(Math.max(...sources.map((_, node) => longest(node))));
      expect(nodesOf(nodes).reduce((sum, node) => sum + (work[node] ?? 0), 0)).toBeCloseTo(share * total);
    }
  });
});
