import { expect, it } from "vitest";
import { Curve } from "./curves.ts";

it("a curve of any length has few points, each the mean of its steps, and ends at the last one", () => {
  const curve = new Curve(100);
  for (let step = 1; step <= 12_345; step++) curve.add({ step, loss: step, rate: 1, norm: NaN, scale: 2 });
  const { step, loss, rate, norm } = curve.columns();
  expect(step.length).toBeGreaterThan(45);
  expect(step.length).toBeLessThanOrEqual(100);
  expect(step.at(-1)).toBe(12_345);
  let before = 0;
  step.forEach((last, i) => {
    expect(loss[i]).toBeCloseTo((before + 1 + last) / 2, 6);
    before = last;
  });
  expect([rate[3], norm[3]]).toEqual([1, NaN]);
});
