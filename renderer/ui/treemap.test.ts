// Areas are in proportion, rectangles lie in the box and on no other, and are not needles: over random weights and boxes.
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../main/testing/random.ts";
import type { Box } from "./treemap.ts";
import { holds, inner, treemap } from "./treemap.ts";

const area = ({ width, height }: Box): number => width * height;
const overlap = (a: Box, b: Box): number =>
  Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) *
  Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));

describe("a treemap", () => {
  it.each(Array.from({ length: 20 }, (_, seed) => seed))("of random weights, seed %i", (seed) => {
    const random = seededRandom(seed + 1).next;
    const box = { x: 10 * random(), y: 3, width: 20 + 900 * random(), height: 20 + 500 * random() };
    // From equal ones to a few that are a million times as large.
    const weights = Array.from(
      { length: 1 + Math.floor(120 * random()) },
      () => 10 ** (seed % 7 === 0 ? 0 : 6 * random()),
    );
    const made = treemap(weights, box);
    const sum = weights.reduce((a, b) => a + b, 0);
    for (const [i, each] of made.entries()) {
      expect(area(each) / area(box)).toBeCloseTo(weights[i]! / sum, 9);
      expect(each.x).toBeGreaterThanOrEqual(box.x - 1e-9);
      expect(each.y).toBeGreaterThanOrEqual(box.y - 1e-9);
      expect(each.x + each.width).toBeLessThanOrEqual(box.x + box.width + 1e-6);
      expect(each.y + each.height).toBeLessThanOrEqual(box.y + box.height + 1e-6);
      for (const other of made.slice(i + 1)) expect(overlap(each, other)).toBeLessThan(1e-6 * area(box));
    }
  });

  it("has near squares where weights allow them", () => {
    for (const { width, height } of treemap(new Array<number>(28).fill(1), { x: 0, y: 0, width: 700, height: 400 }))
      expect(Math.max(width / height, height / width)).toBeLessThan(1.6);
  });

  it("gives nothing to what weighs nothing, and needs room", () => {
    const box = { x: 0, y: 0, width: 10, height: 10 };
    expect(treemap([0, 5, 0], box)).toMatchObject([{ width: 0 }, { width: 10, height: 10 }, { width: 0 }]);
    expect(treemap([], box)).toEqual([]);
    expect(treemap([1, 2], { ...box, width: 0 }).map(area)).toEqual([0, 0]);
    expect(inner(box, 6).width).toBe(0);
    expect([holds(box, 0, 9.9), holds(box, 10, 1)]).toEqual([true, false]);
  });
});
