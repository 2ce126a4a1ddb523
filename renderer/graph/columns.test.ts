import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { breakIntoColumns } from "./columns.ts";
import { layoutLayered } from "./layered.ts";
import type { LocalEdge, LocalSize } from "./layers.ts";

const box: LocalSize = { left: 100, right: 100, height: 50, extra: 0 };
const strip = (n: number, more: readonly LocalEdge[] = []) => {
  const sizes = Array.from({ length: n }, () => box);
  const edges = [...Array.from({ length: n - 1 }, (_, i) => ({ from: i, to: i + 1 })), ...more];
  return { sizes, edges, local: layoutLayered(sizes, edges) };
};

describe("columns", () => {
  it("leaves a strip alone that is no larger in columns", () => {
    const { local, sizes } = strip(3);
    const broken = breakIntoColumns(local, sizes, 0.5);
    expect(broken.columns).toBe(1);
    expect(broken.y).toEqual(local.y);
    expect([...broken.turns]).toEqual([0, 0]);
  });

  it("makes four hundred ranks as wide as the window, so that they are seen at once", () => {
    const { local, sizes } = strip(400);
    const broken = breakIntoColumns(local, sizes, 1.5);
    const [wide, high] = [broken.left + broken.right, broken.height];
    expect(wide / high).toBeGreaterThan(0.9);
    expect(wide / high).toBeLessThan(2.5);
    // A strip would be 34 364 high: this is what the columns are for.
    expect(local.height / high).toBeGreaterThan(8);
  });

  it("reads down and then on at the top of the next column", () => {
    const { local, sizes } = strip(40);
    const { x, y, columns } = breakIntoColumns(local, sizes, 1);
    expect(columns).toBeGreaterThan(1);
    for (let i = 1; i < 40; i++) {
      const next = x[i]! > x[i - 1]! + 1;
      expect(next || (Math.abs(x[i]! - x[i - 1]!) < 1 && y[i]! > y[i - 1]!)).toBe(true);
      if (next) expect(y[i]!).toBeLessThanOrEqual(y[i - 1]!);
    }
  });

  it("leads edges from the end of a column round to the top of the next, outside all boxes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(59), fc.integer({ min: 2, max: 7 })), { maxLength: 12 }),
        fc.double({ min: 0.5, max: 3, noNaN: true }),
        (long, aspect) => {
          const more = long.flatMap(([from, span]) => (from + span < 60 ? [{ from, to: from + span }] : []));
          const { local, sizes, edges } = strip(60, more);
          const { x, y, routes, turns, height } = breakIntoColumns(local, sizes, aspect);
          edges.forEach(({ from, to }, i) => {
            const route = routes[i]!;
            expect([route[0], route[1]]).toEqual([x[from], y[from]! + 50]);
            expect([route.at(-2), route.at(-1)]).toEqual([x[to], y[to]]);
            if (turns[i] === 0) return;
            for (let k = 1; k < route.length; k += 2) {
              expect(route[k]!).toBeGreaterThanOrEqual(0);
              expect(route[k]!).toBeLessThanOrEqual(height);
            }
          });
        },
      ),
      { numRuns: 60 },
    );
  });
});
