import { describe, expect, it } from "vitest";
import { ID_SLOTS } from "../../main/contract/views/graph.ts";
import type { GraphView } from "../../main/contract/views/graph.ts";
import type { ProfileView } from "../../main/contract/views/run.ts";
import { createGraphModel } from "./graphModel.ts";
import { measuredColumn, weightErrorColumn } from "./resultColumns.ts";

/** w (a weight, 300 B) → a(x, w) → b(a, a'): a reads 400 bytes, b 100. */
const view: GraphView = {
  key: { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" },
  title: "",
  nodeCount: 4,
  edgeCount: 3,
  strings: ["", "x", "blk.0.w", "linear", "add"],
  nodes: {
    id: Uint32Array.of(10 * ID_SLOTS, 11 * ID_SLOTS, 12 * ID_SLOTS, 13 * ID_SLOTS + 1),
    op: Uint32Array.of(1, 1, 3, 4),
    name: Uint32Array.of(1, 2, 3, 4),
    type: new Uint32Array(4),
    weight: new Uint32Array(4),
    group: new Uint32Array(4),
    flags: Uint8Array.of(1, 4, 0, 0),
    bytesRead: Float32Array.of(0, 0, 400, 100),
  },
  edges: {
    start: Uint32Array.of(0, 0, 0, 2, 3),
    source: Uint32Array.of(0, 1, 2),
    output: new Uint8Array(3),
    type: new Uint32Array(3),
    bytes: Float32Array.of(100, 300, 100),
  },
  groups: {
    parent: Int32Array.of(-1),
    kind: Uint8Array.of(0),
    name: Uint32Array.of(1),
    structure: Uint32Array.of(0),
    firstNode: Uint32Array.of(0),
    nodeCount: Uint32Array.of(4),
    note: Uint32Array.of(0),
    words: Uint32Array.of(0),
  },
};
const model = createGraphModel(view);
const profileOf = (slices: readonly { step: number; seconds: number; nodes: readonly number[] }[]) =>
  ({
    // A prompt, then tokens up to the last that has a slice.
    steps: {
      decode: Uint8Array.from({ length: Math.max(...slices.map((s) => s.step)) + 1 }, (_, i) => Math.min(i, 1)),
    },
    slices: {
      seconds: Float32Array.from(slices, (s) => s.seconds),
      step: Uint32Array.from(slices, (s) => s.step),
      nodeStart: Uint32Array.from({ length: slices.length + 1 }, (_, i) =>
        slices.slice(0, i).reduce((n, s) => n + s.nodes.length, 0),
      ),
      nodes: Uint32Array.from(slices.flatMap((s) => s.nodes)),
    },
  }) as unknown as ProfileView;

describe("measured time", () => {
  it("is the median of the tokens, of which another program may hold one up, and nothing where nothing was measured", () => {
    const profile = profileOf([
      { step: 0, seconds: 9, nodes: [12] },
      { step: 1, seconds: 2, nodes: [12] },
      { step: 2, seconds: 3, nodes: [12] },
      { step: 3, seconds: 700, nodes: [12] },
    ]);
    const { values, truth, covered } = measuredColumn(model, profile, "decode");
    expect(values[2]).toBe(3);
    expect([values[0], values[1], values[3]]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
    expect([truth, covered]).toEqual(["measured", 1]);
    expect(measuredColumn(model, profile, "prefill").values[2]).toBe(9);
  });

  it("is shared out by bytes where one instruction computes several ops, and says so", () => {
    const profile = profileOf([
      { step: 1, seconds: 5, nodes: [12, 13] },
      { step: 2, seconds: 5, nodes: [12, 13] },
    ]);
    const { values, truth } = measuredColumn(model, profile, "decode");
    expect([values[2], values[3], truth]).toEqual([4, 1, "attributed"]);
  });

  it("tells how much of it has no op in this graph", () => {
    const profile = profileOf([
      { step: 1, seconds: 3, nodes: [12] },
      { step: 1, seconds: 1, nodes: [99] },
    ]);
    expect(measuredColumn(model, profile, "decode").covered).toBeCloseTo(0.75);
  });
});

describe("errors of weights", () => {
  it("stand on the ops that read them, the largest of several", () => {
    const row = { source: "q8_0", form: "", bitsPerWeight: 8, bytes: 1, note: null };
    const { values, covered } = weightErrorColumn(model, [
      { ...row, name: "blk.0.w", relativeRms: 0.25 },
      { ...row, name: "blk.9.w", relativeRms: 0.5 },
    ]);
    expect([...values]).toEqual([Number.NaN, Number.NaN, 0.25, Number.NaN]);
    expect(covered).toBe(0.5);
  });
});
