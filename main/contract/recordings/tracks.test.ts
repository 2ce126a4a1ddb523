import { describe, expect, it } from "vitest";
import { madeRecording } from "../../testing/recordings.ts";
import { totalOf } from "./sums.ts";
import { selectionSum, tracksOf } from "./tracks.ts";

const made = madeRecording({ seed: 5, tokens: 4 });
const kinds = tracksOf(made).map(({ kind }) => kind);
const all = { first: 0, last: kinds.length - 1 };

describe("the lanes", () => {
  it("are those that the recording has", () => {
    expect(kinds).toEqual(["tokens", "host", "lane", "thread", "thread", "memory"]);
    const attributed = tracksOf(madeRecording({ seed: 5, attributed: true }));
    expect(attributed.map(({ kind }) => kind)).toEqual(["tokens", "host", "lane", "lane", "lane", "memory"]);
    expect(attributed.filter(({ truth }) => truth === "attributed").map(({ device }) => device)).toEqual([
      "ane",
      "cpu",
    ]);
    expect(
      tracksOf({
        ...made,
        memory: { time: new Float64Array(0), resident: new Float64Array(0), states: new Float64Array(0) },
      }),
    ).toHaveLength(5);
  });
});

describe("a selection", () => {
  it("of everything is all the time there is, from the first step on", () => {
    const last = made.steps.start.length - 1;
    const [from, to] = [made.steps.start[0]!, made.steps.start[last]! + made.steps.seconds[last]!];
    const { seconds, steps, sums, threads, memory } = selectionSum(made, { from, to, ...all });
    expect(seconds).toBeCloseTo(to - from);
    expect(totalOf(sums)).toBeCloseTo(to - from, 6);
    expect(steps).toBe(5);
    expect(threads.every(({ share }) => share > 0 && share < 1)).toBe(true);
    expect(memory).toEqual({ min: 1e8, max: 1e8 + 4e6 });
  });

  it("counts a part of an instruction as that part", () => {
    const [start, length] = [made.slices.start[2]!, made.slices.seconds[2]!];
    const { sums } = selectionSum(made, { from: start + length / 4, to: start + length / 2, first: 2, last: 2 });
    expect(sums).toHaveLength(1);
    expect(sums[0]).toMatchObject({ count: 1, kind: "op" });
    for (const of of ["seconds", "mean", "min", "max"] as const) expect(sums[0]![of]).toBeCloseTo(length / 4, 9);
    expect(sums[0]!.bytes).toBeCloseTo(made.slices.bytes[2]! / 4, 3);
  });

  it("counts only what its lanes hold, and threads by what they worked", () => {
    const whole = { from: 0, to: 100 };
    const host = selectionSum(made, { ...whole, first: 1, last: 1 });
    expect(host.sums.map(({ kind }) => kind).sort()).toEqual(["between", "edges"]);
    expect([host.steps, host.memory]).toEqual([null, null]);
    const thread = selectionSum(made, { ...whole, first: 4, last: 4 });
    const count = made.slices.start.length;
    expect(totalOf(thread.sums)).toBeCloseTo(
      made.threads.busy.subarray(count).reduce((sum, each) => sum + each, 0),
      5,
    );
    // A lane and its threads are the same time once.
    expect(totalOf(selectionSum(made, { ...whole, first: 2, last: 4 }).sums)).toBeCloseTo(
      totalOf(selectionSum(made, { ...whole, first: 2, last: 2 }).sums),
    );
    expect(selectionSum(made, { from: 50, to: 51, first: 2, last: 2 }).sums).toEqual([]);
  });
});
