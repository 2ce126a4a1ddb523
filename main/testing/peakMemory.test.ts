import { describe, expect, it } from "vitest";
import { collectGarbage } from "./collectGarbage.ts";
import { peakGrowth } from "./peakMemory.ts";

const MIB = 2 ** 20;

function takeAndGiveBack(bytes: number): void {
  expect(new Uint8Array(bytes).fill(1)[5]).toBe(1);
  collectGarbage();
}

// Elsewhere the mark is the highest ever, which what the process held before these tests may exceed.
describe.skipIf(process.platform !== "linux")("the growth (only Linux begins anew)", () => {
  it("sees what was taken and given back", () => {
    const growth = peakGrowth();
    takeAndGiveBack(96 * MIB);
    expect(growth()).toBeGreaterThan(80 * MIB);
  });

  it("begins anew, though more was held before", () => {
    takeAndGiveBack(256 * MIB);
    const growth = peakGrowth();
    expect(growth()).toBeLessThan(32 * MIB);
    takeAndGiveBack(96 * MIB);
    expect(growth()).toBeGreaterThan(80 * MIB);
  });
});
