import { describe, expect, it } from "vitest";
import { ID_SLOTS } from "../../../main/contract/views/graph.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { phaseScope } from "../../../main/contract/recordings/sums.ts";
import { nodesOfSlice, slicesOfNode, slowestSlice } from "./slices.ts";

/** A prompt, then a token: "norm" in both, "linear" twice in the token. */
const profile = {
  strings: ["", "norm", "linear"],
  lanes: [{ title: "CPU", device: "cpu", truth: "measured" }],
  steps: {
    start: new Float64Array([0, 1]),
    seconds: new Float32Array([0.9, 3]),
    tokens: new Uint32Array([4, 1]),
    decode: new Uint8Array([0, 1]),
  },
  slices: {
    start: new Float64Array([0, 1, 2, 3]),
    seconds: new Float32Array([0.9, 0.1, 0.2, 0.5]),
    lane: new Uint8Array(4),
    label: new Uint32Array(4),
    bytes: new Float64Array(4),
    step: new Uint32Array([0, 1, 1, 1]),
    op: new Uint32Array([1, 1, 2, 2]),
    nodeStart: new Uint32Array([0, 1, 2, 4, 4]),
    nodes: new Uint32Array([5, 5, 7, 8]),
  },
} as unknown as ProfileView;

describe("a slice of the timeline", () => {
  it("leads to the nodes that stand for its ops, however many each became", () => {
    const ids = [5 * ID_SLOTS, 7 * ID_SLOTS, 7 * ID_SLOTS + 1, 9 * ID_SLOTS, 8 * ID_SLOTS];
    expect(nodesOfSlice(profile, 2, ids)).toEqual([1, 2, 4]);
    expect(nodesOfSlice(profile, 0, ids)).toEqual([0]);
    expect(nodesOfSlice(profile, 3, ids)).toEqual([]);
  });

  it("is found by the op of the graph", () => {
    expect([...slicesOfNode(profile, 5 * ID_SLOTS + 1)]).toEqual([0, 1]);
    expect([...slicesOfNode(profile, 8 * ID_SLOTS)]).toEqual([2]);
    expect([...slicesOfNode(profile, 9 * ID_SLOTS)]).toEqual([]);
  });

  it("is found by its op: the slowest of the phase", () => {
    const slowest = (op: string, phase: "prefill" | "decode") =>
      slowestSlice(profile, phaseScope(profile, phase), (piece) => piece.op === op);
    expect(slowest("linear", "decode")).toBe(3);
    expect(slowest("norm", "decode")).toBe(1);
    expect(slowest("norm", "prefill")).toBe(0);
    expect(slowest("linear", "prefill")).toBe(-1);
  });
});
