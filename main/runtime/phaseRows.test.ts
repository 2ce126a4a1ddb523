import { describe, expect, it } from "vitest";
import { phaseRows } from "./phaseRows.ts";
import { phaseTime } from "./profile.ts";

/** Two instructions of `linear` and one of `attention` in each run, the seconds of both kinds. */
const partsOf = (runs: readonly (readonly [linear: number, attention: number])[]) =>
  runs.flatMap(([linear, attention], run) => [
    { kind: "linear", run, seconds: linear / 2, bytes: 400 },
    { kind: "attention", run, seconds: attention, bytes: 100 },
    { kind: "linear", run, seconds: linear / 2, bytes: 400 },
  ]);
const rowsOf = (runs: readonly (readonly [number, number])[], writing: boolean) =>
  phaseRows(partsOf(runs), (kind) => kind, writing ? [...runs.keys()] : undefined);

describe("the table of a recording", () => {
  it("has all that a prompt took, the longest first", () => {
    expect(
      rowsOf(
        [
          [2, 1],
          [4, 3],
        ],
        false,
      ),
    ).toEqual([
      { kind: "linear", count: 4, bytes: 1600, seconds: 6, share: 0.6 },
      { kind: "attention", count: 2, bytes: 200, seconds: 4, share: 0.4 },
    ]);
  });

  it("has what a typical token takes, not what one took that was held up", () => {
    expect(
      rowsOf(
        [
          [3, 1],
          [3, 90],
          [3, 1],
        ],
        true,
      ),
    ).toEqual([
      { kind: "linear", count: 2, bytes: 800, seconds: 3, share: 0.75 },
      { kind: "attention", count: 1, bytes: 100, seconds: 1, share: 0.25 },
    ]);
  });

  it("nor what the token of median time took, which may have been held up in one kind only", () => {
    const rows = rowsOf(
      [
        [6, 3],
        [6, 7],
        [16, 3],
      ],
      true,
    );
    expect(rows.map(({ kind, seconds }) => [kind, seconds])).toEqual([
      ["linear", 6],
      ["attention", 3],
    ]);
  });

  it("counts a kind that a token lacks as no time of it", () => {
    const parts = [
      ...partsOf([
        [1, 1],
        [1, 1],
        [1, 1],
      ]),
      { kind: "copy", run: 1, seconds: 5, bytes: 0 },
    ];
    const rows = phaseRows(parts, (kind) => kind, [0, 1, 2]);
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
