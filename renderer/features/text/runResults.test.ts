import { expect, it } from "vitest";
import { apart, placeText } from "./RunResults.tsx";
import { quietFor } from "./slice.ts";

it("names the place of a value in row-major order", () => {
  expect([0, 5, 23].map((at) => placeText(at, [2, 3, 4]))).toEqual(["[0, 0, 0]", "[0, 1, 1]", "[1, 2, 3]"]);
  expect(placeText(0, [])).toBe("[]");
});

it("tells the largest difference of two devices; the same NaN is none", () => {
  const of = (...values: readonly number[]) => ({ values: Float64Array.from(values) });
  expect(apart(of(1, NaN), of(1, NaN))).toBe("the same");
  expect(apart(of(1, 2), of(1.5, 2))).toBe("5.0e-1");
});

it("reads a long text less often", () => {
  expect(quietFor(1000)).toBeLessThan(300);
  expect(quietFor(2_000_000)).toBe(1500);
});
