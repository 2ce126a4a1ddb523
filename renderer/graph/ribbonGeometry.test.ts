import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  rectAt,
  ribbonNotches,
  ribbonParts,
  ribbonRects,
  segmentExtents,
  shareOut,
  waitsOf,
} from "./ribbonGeometry.ts";

const runs = (rows: readonly (readonly [device: number, segment: number, work: number, ops: number])[]) => ({
  device: rows.map(([device]) => device),
  segment: rows.map(([, segment]) => segment),
  work: rows.map(([, , work]) => work),
  ops: rows.map(([, , , ops]) => ops),
  firstNode: rows.map((_, i) => i * 10),
});

describe("the ribbon", () => {
  const route = runs([
    [3, 0, 0.001, 1],
    [1, 1, 0.5, 100],
    [1, 1, 0.3, 50],
    [2, 2, 0.0001, 1],
    [1, 3, 0.1, 50],
    [4, 4, 0.0989, 1],
  ]);

  it("fills its width in order and shows even the smallest segment", () => {
    const rects = ribbonRects(route, 800, "work");
    expect(rects.at(-1)!.x + rects.at(-1)!.width).toBeCloseTo(800);
    for (let i = 1; i < rects.length; i++) expect(rects[i]!.x).toBeCloseTo(rects[i - 1]!.x + rects[i - 1]!.width);
    expect(rects.find((rect) => rect.segment === 2)!.width).toBeCloseTo(3);
    expect(rects.map((rect) => rect.device)).toEqual([3, 1, 1, 2, 1, 4]);
  });

  it("is by number of ops when asked", () => {
    const rects = ribbonRects(route, 203, "ops");
    const of = (segment: number): number => segmentExtents(rects).find((extent) => extent.segment === segment)!.width;
    expect(of(1) / of(3)).toBeCloseTo(3, 0);
  });

  it("joins runs that are too thin to tell apart, with all their ops and work", () => {
    const many = runs(Array.from({ length: 1000 }, () => [1, 0, 0.001, 2] as const));
    const rects = ribbonRects(many, 300, "work");
    expect(rects.length).toBeLessThanOrEqual(100);
    expect(rects.reduce((n, rect) => n + rect.ops, 0)).toBe(2000);
    expect(rects.reduce((n, rect) => n + rect.work, 0)).toBeCloseTo(1);
  });

  it("has a notch at every change of segment", () => {
    expect(ribbonNotches(ribbonRects(route, 800, "work"))).toHaveLength(4);
  });

  it("draws segments as they run, where nodes of several stand between each other", () => {
    const mixed = runs([
      [3, 0, 0.1, 2],
      [1, 1, 0.2, 5],
      [3, 0, 0.1, 2],
      [1, 1, 0.4, 34],
      [3, 2, 0.2, 3],
    ]);
    const rects = ribbonRects(mixed, 800, "work");
    expect(rects.map(({ segment, firstNode }) => [segment, firstNode])).toEqual([
      [0, 0],
      [0, 20],
      [1, 10],
      [1, 30],
      [2, 40],
    ]);
    expect(ribbonNotches(rects)).toHaveLength(2);
    expect(segmentExtents(rects).map(({ segment, width }) => [segment, Math.round(width)])).toEqual([
      [0, 160],
      [1, 480],
      [2, 160],
    ]);
  });

  it("has one scale: what hops and caches take has its own width, and two routes compare by theirs", () => {
    const two = runs([
      [3, 0, 0.2, 2],
      [1, 1, 0.3, 5],
    ]);
    const waits = waitsOf([{ toSegment: 1, seconds: 0.0004 }], 0.0001, 0.001);
    const { rects, gaps } = ribbonParts(two, 1000, "work", waits);
    expect(rects.map(({ x, width }) => [x, width].map(Math.round))).toEqual([
      [0, 200],
      [600, 300],
    ]);
    expect(gaps.map(({ kind, segment, x, width }) => [kind, segment, Math.round(x), Math.round(width)])).toEqual([
      ["hop", 1, 200, 400],
      ["caches", -1, 900, 100],
    ]);
    expect(ribbonNotches(rects).map(Math.round)).toEqual([400]);
    expect(ribbonParts(two, 1000, "ops", waits).gaps).toEqual([]);
  });

  it("finds the stretch under the pointer", () => {
    const rects = ribbonRects(route, 800, "work");
    for (const rect of rects) expect(rectAt(rects, rect.x + rect.width / 2)).toBe(rect);
    expect(rectAt(rects, -1)).toBe(rects[0]);
    expect(rectAt([], 5)).toBeUndefined();
  });

  it("is empty without runs or room", () => {
    expect(ribbonRects(runs([]), 100, "work")).toEqual([]);
    expect(ribbonRects(route, 0, "work")).toEqual([]);
  });

  it("shares out exactly, and fairly above the least", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 100, noNaN: true }), { minLength: 1, maxLength: 50 }),
        fc.integer({ min: 10, max: 2000 }),
        (weights, total) => {
          const shares = shareOut(weights, total, 3);
          expect(shares.reduce((a, b) => a + b, 0)).toBeCloseTo(total, 3);
          for (const share of shares) expect(share).toBeGreaterThanOrEqual(Math.min(3, total / weights.length) - 1e-6);
        },
      ),
    );
  });
});
