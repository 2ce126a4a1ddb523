import { describe, expect, it } from "vitest";
import { madeRecording } from "../../../main/testing/recordings.ts";
import { totalOf } from "../../../main/contract/recordings/sums.ts";
import { slowestSlice } from "./slices.ts";
import { tokenParts } from "./breakdown.ts";
import type { TableRequest } from "./tableRows.ts";
import { matches, scopeOf, tableRows } from "./tableRows.ts";

const profile = madeRecording({ seed: 8, tokens: 6 });
const request: TableRequest = {
  scope: scopeOf(profile, "decode", null),
  ...{ grouping: "op", sorting: { key: "seconds", descends: true }, open: new Set() },
};

describe("the table", () => {
  it("has the rows of the recording itself, and the card beside it the same time", () => {
    const rows = tableRows(profile, request);
    const facts = ({
      device,
      seconds,
      share,
      bandwidth,
    }: {
      device: string;
      seconds: number;
      share: number;
      bandwidth: number | null;
    }) => ({ device, seconds, share, bandwidth });
    expect(rows.map(facts)).toEqual(profile.decode.rows.map(facts));
    const { parts } = tokenParts(profile);
    expect(totalOf(parts)).toBeCloseTo(totalOf(rows), 9);
    expect(parts.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
  });

  it("sorts by any column, both ways", () => {
    const names = tableRows(profile, { ...request, sorting: { key: "name", descends: false } }).map(({ name }) => name);
    expect(names).toEqual(names.toSorted((a, b) => a.localeCompare(b)));
    const counts = (descends: boolean) =>
      tableRows(profile, { ...request, sorting: { key: "count", descends } }).map(({ count }) => count);
    expect(counts(true)).toEqual(counts(true).toSorted((a, b) => b - a));
    expect(counts(false)).toEqual(
      counts(true)
        .toReversed()
        .toSorted((a, b) => a - b),
    );
  });

  it("opens from an op to its layers and their instructions, whose times are those of the row above", () => {
    const tree = { ...request, grouping: "bottom-up" } as const;
    const closed = tableRows(profile, tree);
    const [top] = closed.filter(({ opens }) => opens);
    const once = tableRows(profile, { ...tree, open: new Set([top!.id]) });
    const layers = once.filter(({ path }) => path.length === 2);
    expect(once).toHaveLength(closed.length + layers.length);
    expect(totalOf(layers)).toBeCloseTo(top!.seconds, 9);
    const twice = tableRows(profile, { ...tree, open: new Set([top!.id, layers[0]!.id]) });
    const leaves = twice.filter(({ path }) => path.length === 3);
    expect(totalOf(leaves)).toBeCloseTo(layers[0]!.seconds, 9);
    expect(leaves.every(({ opens }) => !opens)).toBe(true);
    // What is no op has nothing below it.
    expect(closed.filter(({ kind }) => kind !== "op").every(({ opens }) => !opens)).toBe(true);
  });

  it("leads from a row to the slowest of what it sums up", () => {
    for (const grouping of ["op", "layer"] as const)
      for (const row of tableRows(profile, { ...request, grouping }).filter(({ kind }) => kind === "op")) {
        const slice = slowestSlice(profile, request.scope, matches(row, grouping));
        expect(profile.slices.seconds[slice]).toBeCloseTo(row.max, 9);
      }
  });

  it("of a selection has its sums", () => {
    const selection = { from: profile.steps.start[1]!, to: profile.steps.start[2]!, first: 1, last: 2 };
    const rows = tableRows(profile, { ...request, scope: scopeOf(profile, "decode", selection) });
    expect(totalOf(rows)).toBeCloseTo(selection.to - selection.from, 6);
  });
});
