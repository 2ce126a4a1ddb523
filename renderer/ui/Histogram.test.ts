import { expect, it } from "vitest";
import { barShares, numberText } from "./Histogram.tsx";

it("keeps a single value in sight beside a million", () => {
  const [none, one, most] = barShares([0, 1, 1_000_000]);
  expect([none, most]).toEqual([0, 1]);
  expect(one).toBeGreaterThan(0.03);
  expect(barShares([0, 0])).toEqual([0, 0]);
});

it("writes tiny and huge numbers with an exponent", () => {
  expect([0, -0.00001234, 0.1574, -2, 123_456, 3.4e38].map(numberText)).toEqual([
    "0",
    "−1.23e−5",
    "0.1574",
    "−2.000",
    "123 500",
    "3.40e+38",
  ]);
});
