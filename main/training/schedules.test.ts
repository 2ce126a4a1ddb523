/** Rates at the steps where a schedule turns, by hand. */
import { describe, expect, it } from "vitest";
import type { Schedule } from "./schedules.ts";
import {
  constant,
  cosine,
  inverseSqrt,
  linear,
  scheduleOf,
  stepDecay,
  warmUp,
  warmUpStableDecay,
} from "./schedules.ts";

const CASES: readonly (readonly [string, Schedule, Readonly<Record<number, number>>])[] = [
  ["constant", constant(0.3), { 1: 0.3, 1000: 0.3 }],
  ["a number", scheduleOf(0.3), { 1: 0.3, 7: 0.3 }],
  ["a schedule", scheduleOf((step) => step), { 7: 7 }],
  ["linear", linear(1, 0.2, 4), { 1: 1, 2: 0.8, 3: 0.6, 5: 0.2, 50: 0.2 }],
  ["cosine", cosine(1, 4, 0.2), { 1: 1, 3: 0.6, 5: 0.2, 9: 0.2, 2: 0.2 + 0.4 * (1 + Math.SQRT1_2) }],
  ["warm-up", warmUp(4, cosine(1, 2)), { 1: 0.25, 2: 0.5, 4: 1, 5: 1, 6: 0.5, 7: 0 }],
  ["steps", stepDecay(1, 0.5, 3), { 1: 1, 3: 1, 4: 0.5, 6: 0.5, 7: 0.25 }],
  ["inverse root", inverseSqrt(1, 4), { 1: 0.25, 4: 1, 16: 0.5, 64: 0.25 }],
  [
    "warm up, stay, decay",
    warmUpStableDecay(1, { warmUp: 2, stable: 3, decay: 4, to: 0.2 }),
    { 1: 0.5, 2: 1, 5: 1, 6: 0.8, 7: 0.6, 9: 0.2, 20: 0.2 },
  ],
  ["warm up, stay, stop", warmUpStableDecay(1, { warmUp: 0, stable: 2, decay: 0 }), { 1: 1, 2: 1, 3: 0 }],
];

describe("schedules", () => {
  it.each(CASES)("%s", (_, schedule, rates) => {
    for (const [step, rate] of Object.entries(rates))
      expect(schedule(Number(step)), `step ${step}`).toBeCloseTo(rate, 12);
  });

  it.each([
    ["a negative rate", () => constant(-1), "[constant] rate: got -1, expected a number from 0"],
    ["no steps", () => cosine(1, 0), "[cosine] over: got 0, expected a whole number from 1"],
    ["half a step", () => warmUp(1.5, constant(1)), "[warmUp] over: got 1.5"],
    ["a rate that is no number", () => linear(0, NaN, 3), "[linear] to: got NaN"],
    ["a negative part", () => warmUpStableDecay(1, { warmUp: -1, stable: 1, decay: 1 }), "warmUp: got -1"],
  ])("refuse %s", (_, make, message) => {
    expect(make).toThrow(message);
  });
});
