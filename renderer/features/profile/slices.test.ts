import { describe, expect, it } from "vitest";
import { ID_SLOTS } from "../../../main/contract/views/graph.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { nodesOfSlice, slowestSlice } from "./slices.ts";

/** A prompt, then a token: "norm" in both, "linear" twice in the token. */
const profile = {
  strings: ["", "norm", "linear"],
  steps: { decode: new Uint8Array([0, 1]) },
  slices: {
    start: new Float64Array([0, 1, 2, 3]),
    seconds: new Float32Array([0.9, 0.1, 0.2, 0.5]),
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

  it("is found by its op: the slowest of the phase", () => {
    expect(slowestSlice(profile, "linear", true)).toBe(3);
    expect(slowestSlice(profile, "norm", true)).toBe(1);
    expect(slowestSlice(profile, "norm", false)).toBe(0);
    expect(slowestSlice(profile, "linear", false)).toBe(-1);
  });
});
