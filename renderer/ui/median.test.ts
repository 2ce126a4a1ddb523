import { expect, it } from "vitest";
import { median } from "./median.ts";

it("takes the middle value, or the mean of the middle two", () => {
  expect(median([])).toBeUndefined();
  expect(median([7])).toBe(7);
  expect(median([455, 317])).toBe(386);
  expect(median([3, 100, 1])).toBe(3);
  expect(median([4, 1, 3, 100])).toBe(3.5);
});
