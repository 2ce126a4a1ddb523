/** Damaged files end in errors with a code and a next step. The 20 000 of them are in hostile.slow.test.ts. */
import { expect, it } from "vitest";
import { attack } from "../../testing/hostileGguf.ts";

it("500 damaged headers give coded errors or an open file, at once", async () => {
  const { faults, outcomes } = await attack(0, 500);
  expect(faults).toEqual([]);
  // If nearly all failed in the same place, the damage would be too coarse to prove anything.
  expect(outcomes.get("opened") ?? 0).toBeGreaterThan(25);
  expect(outcomes.get("INPUT_MALFORMED") ?? 0).toBeGreaterThan(25);
  expect(outcomes.get("INPUT_TRUNCATED") ?? 0).toBeGreaterThan(25);
});
