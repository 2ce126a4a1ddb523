import { describe, expect, it } from "vitest";
import { BOX_KINDS } from "../graph/lift.ts";
import type { Scene } from "../graph/scene.ts";
import { boundsWithFrames, labelRects, segmentColor, segmentFrames } from "./segmentFrames.ts";

/** A column of boxes of 100 × 50, 50 apart. */
function column(count: number): Scene {
  const of = (pick: (i: number) => number): Float32Array => Float32Array.from({ length: count }, (_, i) => pick(i));
  return {
    boxCount: count,
    kind: new Uint8Array(count).fill(BOX_KINDS.op),
    parent: new Int32Array(count).fill(-1),
    x: of(() => 0),
    y: of((i) => i * 100),
    w: of(() => 100),
    h: of(() => 50),
  } as unknown as Scene;
}

const label = (segment: number): string => `#${segment}`;

describe("the words of a frame", () => {
  it("stand at its head, or beside it where they are longer than it is wide", () => {
    const frame = { x: 100, y: 0, w: 124, h: 78, segment: 0 };
    const [head, beside] = labelRects([
      { ...frame, label: "1 · ANE" },
      { ...frame, label: "1 · ANE · ~84 % · in 4.1 KB · out 2 KB" },
      { ...frame, label: "" },
    ]);
    expect(head!.x + head!.w).toBeLessThan(frame.x + frame.w);
    expect(beside!.x).toBeGreaterThan(frame.x + frame.w);
  });
});

it("frames and the words beside them count as part of the picture", () => {
  const scene = { ...column(2), left: 0, width: 100, height: 150 };
  const frames = segmentFrames(scene, [[0], [1]], () => "1 · ANE · ~84 % · in 4.1 KB · out 2 KB");
  const { x, y, w } = boundsWithFrames(scene, frames);
  expect([x, y]).toEqual([-12, -20]);
  expect(x + w).toBe(Math.max(...labelRects(frames).map((rect) => rect.x + rect.w)));
});

describe("frames of segments", () => {
  it("hold the boxes of one segment in a row, and are named once", () => {
    const frames = segmentFrames(column(4), [[0], [0], [1], [0]], label);
    expect(frames.map((frame) => [frame.segment, frame.label])).toEqual([
      [0, "#0"],
      [0, ""],
      [1, "#1"],
    ]);
    const [first] = frames;
    // Two boxes of 50 with 50 between, 20 above for the label and 8 below.
    expect(first).toMatchObject({ x: -12, y: -20, w: 124, h: 178 });
  });

  it("leave out a box through which a cut goes, and do not reach over it", () => {
    expect(segmentFrames(column(3), [[0], [0, 1], [0]], label).map(({ h }) => h)).toEqual([78, 78]);
  });

  it("are drawn once around an open group of one segment, not again inside it", () => {
    const scene = column(3);
    scene.kind[0] = BOX_KINDS.frame;
    scene.parent.set([-1, 0, 0]);
    expect(segmentFrames(scene, [[2], [2], [2]], label)).toHaveLength(1);
    expect(segmentColor(0)).not.toBe(segmentColor(1));
  });
});
