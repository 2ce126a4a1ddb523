import { describe, expect, it } from "vitest";
import { seededRandom } from "../../runtime/statistics.ts";
import { smallestFailing } from "./smallestFailing.ts";

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const holding =
  (...needed: readonly number[]) =>
  (piece: readonly number[]): Promise<boolean> =>
    Promise.resolve(needed.every((one) => piece.includes(one)));

describe("the smallest failing piece", () => {
  it("finds one among a thousand with two searches by halves", async () => {
    const found = await smallestFailing(numbers(1000), holding(617), 100);
    expect(found).toMatchObject({ items: [617], stopped: false });
    expect(found.tries).toBeLessThanOrEqual(20);
  });

  it("finds several that fail together, wherever they are", async () => {
    const random = seededRandom(3);
    for (let round = 0; round < 60; round++) {
      const size = 2 + Math.floor(random() * 80);
      const needed = [...new Set(numbers(1 + (round % 4)).map(() => Math.floor(random() * size)))].sort(
        (a, b) => a - b,
      );
      const { items, stopped } = await smallestFailing(numbers(size), holding(...needed), 10_000);
      expect({ items, stopped }).toEqual({ items: needed, stopped: false });
    }
  });

  it("gives a piece that was tried and fails, even where larger ones need not fail", async () => {
    const random = seededRandom(8);
    for (let round = 0; round < 30; round++) {
      const failing = new Set<string>([numbers(12).join()]);
      const fails = (piece: readonly number[]): Promise<boolean> => {
        if (random() < 0.4) failing.add(piece.join());
        return Promise.resolve(failing.has(piece.join()));
      };
      expect(failing.has((await smallestFailing(numbers(12), fails, 500)).items.join())).toBe(true);
    }
  });

  it("stops after so many tries with what it has", async () => {
    const { items, tries, stopped } = await smallestFailing(numbers(1000), holding(617), 4);
    expect([tries, stopped]).toEqual([4, true]);
    expect(items).toContain(617);
    expect(items.length).toBeLessThan(1000);
  });

  it("passes on what trying throws", async () => {
    await expect(smallestFailing([1, 2], () => Promise.reject(new Error("cancelled")), 9)).rejects.toThrow("cancelled");
  });
});
