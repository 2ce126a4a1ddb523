import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decoderGraph, QWEN_SHAPE } from "../testing/decoderGraph.ts";
import { allGroups, classify } from "./fold.ts";
import { createGraphModel, groupName, opName } from "./graphModel.ts";
import { createGridIndex } from "./gridIndex.ts";
import { layoutLayered } from "./layered.ts";
import type { LocalEdge } from "./layers.ts";
import { IN, LONG_SPAN, OUT } from "./layers.ts";
import { layoutScene } from "./layout.ts";
import { BOX_KINDS } from "./lift.ts";
import type { Scene } from "./scene.ts";

const key = { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;
const modelOf = (layers: number) => createGraphModel(decoderGraph({ ...QWEN_SHAPE, layers, oddLayers: [3] }, key));

/** Pairs of boxes in the same frame that overlap. */
function overlaps(scene: Scene): number {
  let n = 0;
  for (let a = 0; a < scene.boxCount; a++)
    for (let b = a + 1; b < scene.boxCount; b++) {
      if (scene.parent[a] !== scene.parent[b]) continue;
      if (
        scene.x[a]! + scene.w[a]! > scene.x[b]! &&
        scene.x[b]! + scene.w[b]! > scene.x[a]! &&
        scene.y[a]! + scene.h[a]! > scene.y[b]! &&
        scene.y[b]! + scene.h[b]! > scene.y[a]!
      )
        n++;
    }
  return n;
}

function outside(scene: Scene): number {
  let n = 0;
  for (let box = 0; box < scene.boxCount; box++) {
    const frame = scene.parent[box]!;
    if (frame < 0) continue;
    if (
      scene.x[box]! < scene.x[frame]! ||
      scene.y[box]! < scene.y[frame]! ||
      scene.x[box]! + scene.w[box]! > scene.x[frame]! + scene.w[frame]! ||
      scene.y[box]! + scene.h[box]! > scene.y[frame]! + scene.h[frame]!
    )
      n++;
  }
  return n;
}

describe("one frame", () => {
  const box = { left: 50, right: 50, height: 40, extra: 0 };
  const chain = (n: number): LocalEdge[] => Array.from({ length: n - 1 }, (_, i) => ({ from: i, to: i + 1 }));

  it("puts a chain into one straight column", () => {
    const { x, y, routes } = layoutLayered(
      Array.from({ length: 6 }, () => box),
      [{ from: IN, to: 0 }, ...chain(6), { from: 5, to: OUT }],
    );
    for (const at of x) expect(at).toBeCloseTo(0);
    for (let i = 1; i < 6; i++) expect(y[i]!).toBeGreaterThan(y[i - 1]! + 40);
    expect(routes.every((route) => route.length === 4)).toBe(true);
  });

  it("draws a diamond without crossings, in program order from left to right", () => {
    const { x } = layoutLayered(
      [box, box, box, box],
      [
        { from: 0, to: 1 },
        { from: 0, to: 2 },
        { from: 1, to: 3 },
        { from: 2, to: 3 },
      ],
    );
    expect(x[1]!).toBeLessThan(x[2]!);
    // The first branch is the spine and stays straight.
    expect(x[0]!).toBeCloseTo(x[1]!);
    expect(x[3]!).toBeCloseTo(x[1]!);
  });

  it("bends an edge around the ranks that it passes", () => {
    const { routes, x } = layoutLayered([box, box, box], [...chain(3), { from: 0, to: 2 }]);
    const bend = routes[2]!;
    expect(bend.length).toBe(8);
    expect(Math.abs(bend[2]! - x[1]!)).toBeGreaterThanOrEqual(50);
  });

  it("leads a long edge past everything on one line", () => {
    const wide = { ...box, left: 120, right: 120 };
    const { routes } = layoutLayered(
      [box, wide, box, wide, box, box],
      [...chain(6), { from: 0, to: 5 }, { from: 0, to: 3 }],
    );
    const bends = [...routes[5]!].filter((_, i) => i % 2 === 0).slice(1, -1);
    expect(bends.length).toBe(8);
    expect(new Set(bends.map((at) => at.toFixed(3))).size).toBe(1);
  });

  it("cuts edges that are too long and takes those against program order out of the ranking", () => {
    const { cut, back, routes } = layoutLayered(
      Array.from({ length: 12 }, () => box),
      [...chain(12), { from: 0, to: LONG_SPAN + 1 }, { from: 0, to: LONG_SPAN }, { from: 5, to: 2 }],
    );
    expect([...cut].slice(11)).toEqual([1, 0, 0]);
    expect([...back].slice(11)).toEqual([0, 0, 1]);
    expect(routes[13]).toHaveLength(0);
  });

  it("moves a source down to its first consumer", () => {
    const { y } = layoutLayered(
      [box, box, box, box],
      [
        { from: 0, to: 1 },
        { from: 1, to: 3 },
        { from: 2, to: 3 },
      ],
    );
    expect(y[2]!).toBe(y[1]!);
  });

  it("keeps the long chain straight, not a source that joins it late", () => {
    // 0 feeds only 4; 1 → 2 → 3 → 4 → 5 is the program.
    const { x } = layoutLayered(
      [box, box, box, box, box, box],
      [
        { from: 0, to: 4 },
        { from: 1, to: 2 },
        { from: 2, to: 3 },
        { from: 3, to: 4 },
        { from: 4, to: 5 },
      ],
    );
    for (const node of [1, 2, 3, 4, 5]) expect(x[node]!).toBeCloseTo(0);
    expect(Math.abs(x[0]!)).toBeGreaterThan(100);
  });

  it("never overlaps, whatever the graph", () => {
    const graphs = fc
      .integer({ min: 1, max: 40 })
      .chain((n) =>
        fc.record({ n: fc.constant(n), edges: fc.array(fc.tuple(fc.nat(n - 1), fc.nat(n - 1)), { maxLength: 80 }) }),
      );
    fc.assert(
      fc.property(graphs, ({ n, edges }) => {
        const sizes = Array.from({ length: n }, (_, i) => ({
          left: 30 + (i % 3) * 20,
          right: 40 + (i % 4) * 20,
          height: 30 + (i % 2) * 30,
          extra: i % 5 === 0 ? 70 : 0,
        }));
        const { x, y, left, right, height } = layoutLayered(
          sizes,
          edges.map(([from, to]) => ({ from, to })),
        );
        for (let a = 0; a < n; a++) {
          expect(sizes[a]!.left - x[a]!).toBeLessThanOrEqual(left + 1e-6);
          expect(x[a]! + sizes[a]!.right + sizes[a]!.extra).toBeLessThanOrEqual(right + 1e-6);
          expect(y[a]! + sizes[a]!.height).toBeLessThanOrEqual(height + 1e-6);
          for (let b = a + 1; b < n; b++) {
            const sameRow = y[a]! < y[b]! + sizes[b]!.height && y[b]! < y[a]! + sizes[a]!.height;
            const [l, r] = x[a]! < x[b]! ? [a, b] : [b, a];
            if (sameRow)
              expect(x[r]! - sizes[r]!.left - (x[l]! + sizes[l]!.right + sizes[l]!.extra)).toBeGreaterThan(0);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("the whole picture", () => {
  const model = modelOf(6);
  const classes = classify(model, null);
  const groupNamed = (name: string): number =>
    Array.from(model.view.groups.parent.keys()).find((g) => groupName(model.view, g) === name)!;

  it("folds into a handful of boxes without overlaps", () => {
    const scene = layoutScene(model, { open: new Set(), classes });
    expect(scene.boxCount).toBe(9);
    expect(overlaps(scene)).toBe(0);
    expect(scene.edgeCount).toBeGreaterThan(5);
  });

  it("opens a block in place: a frame with its parts, edges through its ports", () => {
    const open = new Set([groupNamed("block 3"), groupNamed("attention")]);
    const scene = layoutScene(model, { open, classes });
    const frame = [...scene.kind].findIndex(
      (kind, i) => kind === BOX_KINDS.frame && scene.ref[i] === groupNamed("block 3"),
    );
    expect([...scene.parent].filter((parent) => parent === frame)).toHaveLength(4);
    expect(overlaps(scene)).toBe(0);
    expect(outside(scene)).toBe(0);
    // Something comes in at the top port and leaves at the bottom one.
    const ends = Array.from({ length: scene.edgeCount }, (_, i) => [scene.edgeFrom[i], scene.edgeTo[i]]);
    expect(ends.some(([from, to]) => from === frame && scene.parent[to!] === frame)).toBe(true);
    expect(ends.some(([from, to]) => to === frame && scene.parent[from!] === frame)).toBe(true);
  });

  it("draws a value as stubs once many boxes read it", () => {
    const scene = layoutScene(model, { open: allGroups(model), classes });
    const names = new Set([...scene.stubNode].map((node) => opName(model.view, node)));
    expect(names).toEqual(new Set(["rope_table", "input"]));
    expect(overlaps(scene)).toBe(0);
    expect(outside(scene)).toBe(0);
  });

  it("stands for every node by exactly the box that shows it", () => {
    const scene = layoutScene(model, { open: new Set(), classes });
    for (let node = 0; node < model.view.nodeCount; node++)
      expect(scene.boxOfNode[node]! >= 0).toBe(model.hidden[node] === 0);
  });

  it("keeps drawing equal blocks equally: same shape at another place", () => {
    const scene = layoutScene(model, { open: allGroups(model), classes });
    const frames = ["block 0", "block 5"].map((name) =>
      [...scene.kind].findIndex((kind, i) => kind === BOX_KINDS.frame && scene.ref[i] === groupNamed(name)),
    );
    const inside = frames.map((frame) =>
      Array.from(scene.x.keys())
        .filter((box) => scene.parent[box] === frame)
        .map((box) => [scene.x[box]! - scene.x[frame]!, scene.y[box]! - scene.y[frame]!]),
    );
    expect(inside[0]).toEqual(inside[1]);
  });
});

describe("the grid", () => {
  const rects = fc.array(
    fc.record({
      x: fc.integer({ min: -5000, max: 5000 }),
      y: fc.integer({ min: -5000, max: 50_000 }),
      w: fc.integer({ min: 1, max: 9000 }),
      h: fc.integer({ min: 1, max: 900 }),
    }),
    { maxLength: 60 },
  );
  it("finds what a search through everything finds", () => {
    fc.assert(
      fc.property(rects, rects, (boxes, queries) => {
        const column = (pick: (r: (typeof boxes)[number]) => number): Float32Array => Float32Array.from(boxes, pick);
        const index = createGridIndex({
          x: column((r) => r.x),
          y: column((r) => r.y),
          w: column((r) => r.w),
          h: column((r) => r.h),
        });
        for (const q of queries) {
          const expected = boxes.flatMap((b, i) =>
            b.x <= q.x + q.w && b.x + b.w >= q.x && b.y <= q.y + q.h && b.y + b.h >= q.y ? [i] : [],
          );
          expect(index.query(q)).toEqual(expected);
        }
      }),
      { numRuns: 100 },
    );
  });
});
