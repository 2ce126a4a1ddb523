import { describe, expect, it } from "vitest";
import { phaseRows } from "./phaseRows.ts";
import { phaseTime } from "./profile.ts";

/** Runs with these seconds of either kind: two instructions of `linear`, one of `attention` between them. */
const partsOf = (linear: readonly number[], attention: readonly number[]) =>
  linear.flatMap((seconds, run) => [
    { kind: "linear", run, seconds: seconds / 2, bytes: 400 },
    { kind: "attention", run, seconds: attention[run]!, bytes: 100 },
    { kind: "linear", run, seconds: seconds / 2, bytes: 400 },
  ]);
const kindOf = (kind: string): string => kind;

describe("the table of a recording", () => {
  it("has all that a prompt took, the longest first", () => {
    expect(phaseRows(partsOf([2, 4], [1, 3]), kindOf)).toEqual([
      { kind: "linear", count: 4, bytes: 1600, seconds: 6, share: 0.6 },
      { kind: "attention", count: 2, bytes: 200, seconds: 4, share: 0.4 },
    ]);
  });

  it("has what a typical token takes, not what one took that was held up", () => {
    expect(phaseRows(partsOf([3, 3, 3], [1, 90, 1]), kindOf, [0, 1, 2])).toEqual([
      { kind: "linear", count: 2, bytes: 800, seconds: 3, share: 0.75 },
      { kind: "attention", count: 1, bytes: 100, seconds: 1, share: 0.25 },
    ]);
  });

  it("nor what the token of median time took, which may have been held up in one kind only", () => {
    const rows = phaseRows(partsOf([6, 6, 16], [3, 7, 3]), kindOf, [0, 1, 2]);
    expect(rows.map(({ seconds }) => seconds)).toEqual([6, 3]);
  });

  it("counts a kind that a token lacks as no time of it", () => {
    const parts = [...partsOf([1, 1, 1], [1, 1, 1]), { kind: "copy", run: 1, seconds: 5, bytes: 0 }];
    const rows = phaseRows(parts, kindOf, [0, 1, 2]);
    expect(rows.find(({ kind }) => kind === "copy")).toMatchObject({ seconds: 0, share: 0 });
  });

  it("is empty where nothing was recorded", () => {
    expect(phaseRows([], String, [])).toEqual([]);
  });
});

describe("the time of one token", () => {
  const runs = [4, 90, 6].map((seconds) => ({ seconds, tokens: 1 }));
  it("is the median where they are written, and the share of the whole where they are read", () => {
    expect(phaseTime(runs, true)).toEqual({ seconds: 6, tokens: 3, basis: "a token, median of 3 written tokens" });
    expect(
      phaseTime(
        [
          { seconds: 2, tokens: 6 },
          { seconds: 1, tokens: 4 },
        ],
        false,
      ),
    ).toMatchObject({ seconds: 0.3, tokens: 10 });
    expect(phaseTime([], true)).toMatchObject({ seconds: 0, tokens: 0 });
  });
});
