// This machine as a target: families, systems between two that we know, and machines that are none.
import { expect, it } from "vitest";
import { placeOf } from "./thisMac.ts";

it.each([
  ["Apple M3 Pro", 15, { chip: "m3", os: "macos15" }],
  ["Apple M1", 14, { chip: "m1", os: "macos14" }],
  ["Apple M4 Max", 27, { chip: "m4", os: "macos26" }],
  // Newer than what we know: the newest rules there are.
  ["Apple M9 Ultra", 26, { chip: "m5", os: "macos26" }],
])("%s with macOS %d", (chip, osMajor, place) => {
  expect(placeOf({ chip, osMajor })).toEqual(place);
});

it("says nothing of other machines", () => {
  expect(placeOf({ chip: "Intel(R) Core(TM) i7-8700B CPU @ 3.20GHz", osMajor: 15 })).toBeUndefined();
  expect(placeOf({ chip: "Apple M1", osMajor: 13 })).toBeUndefined();
});
