/** 20 000 mutated texts: told about within a second each, or graphs that print and read the same. */
import { expect, it } from "vitest";
import { opTable } from "../../ops/index.ts";
import { attackText, hostileTexts } from "../../testing/hostileText.ts";

it("20 000 damaged texts", () => {
  const texts = hostileTexts();
  const ends = new Map<string, number>();
  for (let seed = 0; seed < 20_000; seed++) {
    const { fault, end } = attackText(opTable, texts, seed);
    expect(fault).toBeUndefined();
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  // The damage goes everywhere: some are graphs still, others are wrong in different ways.
  expect(ends.get("graph")).toBeGreaterThan(200);
  expect([...ends.values()].filter((times) => times >= 100).length).toBeGreaterThanOrEqual(4);
});
