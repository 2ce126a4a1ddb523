import { expect, it } from "vitest";
import { readNumberList } from "./numberList.ts";

it("reads numbers, ranges and steps, each once", () => {
  expect(readNumberList("128, 512", 0, 1000)).toEqual({ ok: true, values: [128, 512] });
  expect(readNumberList("1-4", 1, 8)).toEqual({ ok: true, values: [1, 2, 3, 4] });
  expect(readNumberList("1, 2-8+2, 8", 1, 8)).toEqual({ ok: true, values: [1, 2, 4, 6, 8] });
});

it.each([
  ["", "got nothing"],
  ["1,,2", "got nothing"],
  ["1e3", "got 1e3"],
  ["4-1", "got 4-1"],
  ["0", "expected whole numbers from 1 to 8"],
  ["9", "got 9"],
  ["1-4+0", "got 1-4+0"],
  ["-3", "got -3"],
])("refuses %j", (text, problem) => {
  expect(readNumberList(text, 1, 8)).toMatchObject({ ok: false, problem: expect.stringContaining(problem) as string });
});

it("has an end", () => {
  expect(readNumberList("1-999999999", 1, 1e9)).toEqual({ ok: false, problem: "expected at most 64 numbers" });
});
