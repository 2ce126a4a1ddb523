import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { peakGrowth } from "./peakMemory.ts";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;
const MIB = 2 ** 20;

function takeAndGiveBack(bytes: number): void {
  expect(new Uint8Array(bytes).fill(1)[5]).toBe(1);
  gc();
  gc();
}

it("sees what was taken and given back", () => {
  const growth = peakGrowth();
  takeAndGiveBack(96 * MIB);
  expect(growth()).toBeGreaterThan(80 * MIB);
});

// Elsewhere the mark is the highest ever.
it.runIf(process.platform === "linux")("begins anew, though more was held before", () => {
  takeAndGiveBack(256 * MIB);
  const growth = peakGrowth();
  expect(growth()).toBeLessThan(32 * MIB);
  takeAndGiveBack(96 * MIB);
  expect(growth()).toBeGreaterThan(80 * MIB);
});
