// The halving looks at few steps and names one after which a number is worse than at the first, and not before it.
import { describe, expect, it } from "vitest";
import { halve, isWorse, valueOf } from "./pipelineSteps.ts";

const NUMBERS = { ops: 7, hops: 2, aneShare: 0.5, seconds: 0.01, devices: Uint8Array.of(0, 1, 3) };

async function lost(values: readonly number[], watched: "ane" | "hops" | "seconds" = "hops") {
  const asked: number[] = [];
  const { lostAt } = await halve(values.length, watched, (step) => {
    asked.push(step);
    return Promise.resolve(values[step] ?? 0);
  });
  return { lostAt, asked };
}

describe("halving", () => {
  it("finds the one step that made it worse, with the logarithm of the steps", async () => {
    for (let at = 1; at < 32; at++) {
      const values = Array.from({ length: 32 }, (_, step) => (step < at ? 2 : 5));
      const { lostAt, asked } = await lost(values);
      expect(lostAt).toBe(at);
      // The two ends and five halvings of 31 gaps.
      expect(asked.length).toBeLessThanOrEqual(7);
      expect(new Set(asked).size).toBe(asked.length);
    }
  });

  it("finds a worse step behind one that is not, where there are several", async () => {
    const values = [0.8, 0.5, 0.9, 0.9, 0.4, 0.6];
    const { lostAt } = await lost(values, "ane");
    expect(values[(lostAt ?? 0) - 1]).toBeGreaterThanOrEqual(0.8);
    expect(values[lostAt ?? 0]).toBeLessThan(0.8);
  });

  it("says that nothing was lost where the end is as good as the beginning, and looks at both only", async () => {
    expect(await lost([3, 9, 9, 3])).toEqual({ lostAt: undefined, asked: [0, 3] });
    expect(await lost([3])).toEqual({ lostAt: undefined, asked: [0] });
  });
});

describe("what is looked at", () => {
  it("is a number, or the device of an operation by the id of any of its nodes", () => {
    expect([valueOf("ane", NUMBERS), valueOf("hops", NUMBERS), valueOf("ops", NUMBERS)]).toEqual([0.5, 2, 7]);
    expect([
      valueOf({ op: 64 }, NUMBERS),
      valueOf({ op: 2 * 64 + 5 }, NUMBERS),
      valueOf({ op: 64 * 9 }, NUMBERS),
    ]).toEqual([1, 3, 0]);
    expect(valueOf("ane", { ...NUMBERS, aneShare: null })).toBeNull();
  });

  it("is worse by less ANE, by more of anything else, by any other device, and not by rounding", () => {
    expect([isWorse("ane", 0.5, 0.4), isWorse("ane", 0.5, 0.6), isWorse("ane", 0.5, 0.4999)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([isWorse("seconds", 1, 1.1), isWorse("seconds", 1, 0.9), isWorse("seconds", 1, 1.0005)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([isWorse({ op: 1 }, 1, 3), isWorse({ op: 1 }, 3, 1), isWorse({ op: 1 }, 3, 3)]).toEqual([true, true, false]);
  });
});
