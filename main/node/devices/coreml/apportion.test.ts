// Measured predictions shared out by cost: nothing is lost, nothing is made up, and what the plan does not say stays whole.
import { describe, expect, it } from "vitest";
import type { Slice, TimedPrediction, WeighedOp } from "./apportion.ts";
import { apportion } from "./apportion.ts";

const op = (output: string, cost: number, device: WeighedOp["device"] = "ane"): WeighedOp => ({
  op: "linear",
  output,
  device,
  cost,
  sources: [7],
});
const prediction = (name: string, start: number, seconds: number, systemSeconds: number): TimedPrediction => ({
  function: name,
  step: 3,
  start,
  seconds,
  systemSeconds,
});
const sum = (slices: readonly Slice[]): number => slices.reduce((total, slice) => total + slice.seconds, 0);

describe("apportion", () => {
  const plans = new Map([
    ["decode", [op("a", 0.2), op("b", 0.6, "gpu"), op("none", 0), op("unknown", -1), op("c", 0.2, "cpu")]],
  ]);

  it("shares the time inside Core ML by cost, in the order of the plan, one after the other", () => {
    const slices = apportion([prediction("decode", 5, 0.011, 0.01)], plans);
    expect(slices.map(({ kind, label, device }) => [kind, label, device])).toEqual([
      ["attributed", "a", "ane"],
      ["attributed", "b", "gpu"],
      ["attributed", "c", "cpu"],
      ["bridge", "decode: in and out", "host"],
    ]);
    const near = (made: readonly number[], wanted: readonly number[]): void =>
      made.forEach((value, k) => expect(value).toBeCloseTo(wanted[k] ?? NaN, 12));
    near(
      slices.map(({ seconds }) => seconds),
      [0.002, 0.006, 0.002, 0.001],
    );
    near(
      slices.map(({ start }) => start),
      [5, 5.002, 5.008, 5.01],
    );
    expect(slices.every(({ step }) => step === 3)).toBe(true);
    expect(slices[0]?.sources).toEqual([7]);
  });

  it("loses nothing, whatever the costs add up to", () => {
    const odd = new Map([["decode", Array.from({ length: 500 }, (_, i) => op(`o${i}`, ((i * 37) % 11) / 3))]]);
    const slices = apportion([prediction("decode", 0, 0.25, 0.2), prediction("decode", 1, 0.5, 0.5)], odd);
    expect(sum(slices)).toBeCloseTo(0.75, 9);
    expect(sum(slices.filter(({ kind }) => kind === "attributed"))).toBeCloseTo(0.7, 9);
  });

  it("keeps a prediction whole where the plan has no costs", () => {
    const bare = new Map([["decode", [op("a", -1), op("b", 0)]]]);
    for (const name of ["decode", "prefill"])
      expect(apportion([prediction(name, 0, 2, 2)], bare)).toEqual([
        { kind: "whole", step: 3, start: 0, seconds: 2, op: "prediction", label: name, device: "none", sources: [] },
      ]);
  });

  it("never gives Core ML more than the whole call took", () => {
    expect(sum(apportion([prediction("decode", 0, 1, 1.5)], plans))).toBeCloseTo(1, 12);
  });
});
