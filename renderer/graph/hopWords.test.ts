import { describe, expect, it } from "vitest";
import type { HopView } from "../../main/contract/views/route.ts";
import { hopChip, hopEdges, hopLoad, segmentsOfNodes } from "./hopWords.ts";

const hop: HopView = {
  fromSegment: 0,
  toSegment: 1,
  from: "ane",
  to: "cpu",
  values: 3,
  bytes: 2560,
  seconds: { value: 230e-6, low: null, high: null, unit: "seconds", truth: "predicted", basis: "" },
};

describe("a hop in words", () => {
  it("gives all of what crosses together with the time for all of it", () => {
    expect(hopChip(hop).replaceAll(/\s+/g, " ")).toBe("A→C 2.56 KB ~230 µs");
    expect(hopLoad(hop).replaceAll(/\s+/g, " ")).toBe("3 values, 2.56 KB");
  });

  it("finds each node's segment by the stretches of the program, not by first and last node", () => {
    // Segment 0 begins again after a node of segment 1: a range from first to last would swallow that node.
    const column = segmentsOfNodes(7, {
      nodes: {
        device: Uint8Array.of(0, 1, 1, 3, 1, 0, 1),
        work: new Float32Array(7),
        seconds: new Float32Array(7),
        rule: new Uint32Array(7),
        reason: new Uint32Array(7),
        lowering: new Uint32Array(7),
      },
      runs: {
        device: Uint8Array.of(1, 3, 1),
        work: new Float32Array(3),
        seconds: new Float32Array(3),
        ops: Uint32Array.of(2, 1, 2),
        firstNode: Uint32Array.of(1, 3, 4),
        segment: Uint32Array.of(0, 1, 0),
      },
    });
    expect([...column]).toEqual([-1, 0, 0, 1, 0, -1, 0]);
  });

  it("names the edges of the graph that a hop is made of, once per value", () => {
    const view = {
      nodeCount: 4,
      edges: {
        start: Uint32Array.of(0, 0, 0, 1, 3),
        source: Uint32Array.of(0, 0, 1),
        bytes: Float32Array.of(1024, 1024, 8),
      },
    };
    expect(hopEdges(view, Int32Array.of(0, 0, 1, 1), hop)).toEqual([
      { source: 0, target: 2, bytes: 1024 },
      { source: 1, target: 3, bytes: 8 },
    ]);
  });
});
