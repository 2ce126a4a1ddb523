// The KL divergence of two distributions, by numbers that can be worked out by hand.
import { expect, test } from "vitest";
import { divergenceOf, mostTokens } from "./quality.ts";

const logs = (...shares: number[]): Float32Array => Float32Array.from(shares, Math.log);

test("is nothing between equal distributions, and Σ p ln(p ÷ q) else", () => {
  expect(divergenceOf(logs(0.5, 0.25, 0.25), logs(0.5, 0.25, 0.25))).toBe(0);
  expect(divergenceOf(logs(0.5, 0.5), logs(0.25, 0.75))).toBeCloseTo(0.5 * Math.log(2) + 0.5 * Math.log(2 / 3), 6);
});

test("leaves out what the reference rules out, and is endless where the other rules out a token", () => {
  expect(divergenceOf(logs(1, 0), logs(0.5, 0.5))).toBeCloseTo(Math.log(2), 6);
  expect(divergenceOf(logs(0.5, 0.5), logs(1, 0))).toBe(Infinity);
});

test("keeps no more of the reference than a gibibyte", () => {
  const tokens = mostTokens(151_936);
  expect((tokens - 1) * 4 * 151_936).toBeLessThanOrEqual(2 ** 30);
  expect(tokens * 4 * 151_936).toBeGreaterThan(2 ** 30);
});
