import { expect, it } from "vitest";
import type { Rect } from "./gridIndex.ts";
import { createGridIndex } from "./gridIndex.ts";
import { seededRandom } from "../../main/testing/random.ts";

it("finds the boxes that touch a rectangle, as looking at each of them does", () => {
  const random = seededRandom(5);
  const column = (most: number, from = 0): Float32Array =>
    Float32Array.from({ length: 600 }, () => Math.round(from + random.next() * most));
  const boxes = { x: column(8000, -4000), y: column(8000, -4000), w: column(900), h: column(3000) };
  const index = createGridIndex(boxes);
  const touching = ({ x, y, w, h }: Rect): number[] =>
    [...boxes.x.keys()].filter((box) => {
      const [left, top] = [boxes.x[box] ?? 0, boxes.y[box] ?? 0];
      return left <= x + w && left + (boxes.w[box] ?? 0) >= x && top <= y + h && top + (boxes.h[box] ?? 0) >= y;
    });
  const everything = { x: -4000, y: -4000, w: 12_000, h: 12_000 };
  const views = Array.from({ length: 200 }, () => {
    const size = random.next() < 0.3 ? 15_000 : 1500;
    return {
      x: random.next() * 9000 - 5000,
      y: random.next() * 9000 - 5000,
      w: random.next() * size,
      h: random.next() * size,
    };
  });
  for (const view of [everything, ...views]) expect(index.query(view)).toEqual(touching(view));
  // Asked again: some are kept, the oldest are not.
  for (const view of views.toReversed()) expect(index.query(view)).toEqual(touching(view));
  const [kept] = views;
  expect(kept && index.query(kept)).toBe(kept && index.query({ ...kept }));
  for (const { x, y } of views) expect(index.hit(x, y)).toBe(touching({ x, y, w: 0, h: 0 }).at(-1) ?? -1);
  expect(index.query(everything)).toHaveLength(600);
  expect(
    createGridIndex({
      x: new Float32Array(0),
      y: new Float32Array(0),
      w: new Float32Array(0),
      h: new Float32Array(0),
    }).query(everything),
  ).toEqual([]);
});
