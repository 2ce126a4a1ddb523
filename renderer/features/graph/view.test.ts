import { describe, expect, it } from "vitest";
import { decoderGraph, QWEN_SHAPE } from "../../testing/decoderGraph.ts";
import { allGroups, classify, classifyRoughly } from "../../graph/fold.ts";
import { createGraphModel } from "../../graph/graphModel.ts";
import { layoutScene, ROOMY } from "../../graph/layout.ts";
import type { LayoutRoom } from "../../graph/layout.ts";
import type { Scene } from "../../graph/scene.ts";
import { worldRect } from "../../drawing/lod.ts";
import { roomFor } from "./graphState.ts";
import {
  BAR_ROOM,
  fitBetweenBars,
  firstViewport,
  keepMiddle,
  nextLevel,
  READABLE_ZOOM,
  showsEverything,
} from "./view.ts";

const key = { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;
const model = createGraphModel(decoderGraph({ ...QWEN_SHAPE, layers: 40, oddLayers: [3, 5, 7, 9, 11, 13] }, key));
const device = new Uint8Array(model.view.nodeCount).fill(1);
const classes = classify(model, device);
const rough = classifyRoughly(model, device);
const scene = (open: ReadonlySet<number>, room: LayoutRoom): Scene =>
  layoutScene(model, { open, classes, rough }, room);

/** Canvas sizes that windows of 1000×640 and 1440×900 leave. */
const SMALL = { width: 588, height: 490 };
const USUAL = { width: 914, height: 746 };

describe("the first view", () => {
  it.each([SMALL, USUAL])("shows the whole folded graph as cards in %o", (size) => {
    const folded = scene(new Set(), roomFor(size.width, size.height, false));
    const at = firstViewport(folded, size);
    expect(at.zoom).toBeGreaterThanOrEqual(READABLE_ZOOM);
    expect(showsEverything(folded, at, size)).toBe(true);
    // Nothing lies under the bar.
    expect(at.y).toBeGreaterThanOrEqual(BAR_ROOM);
  });

  it.each([SMALL, USUAL])("ends above the legend, however many rows that has, in %o", (size) => {
    const folded = scene(new Set(), roomFor(size.width, size.height, false));
    for (const legendHeight of [34, 60, 90]) {
      const { y, zoom } = fitBetweenBars(folded, { ...size, legendHeight });
      expect(y + folded.height * zoom).toBeLessThanOrEqual(size.height - legendHeight - 14);
      expect(y).toBeGreaterThanOrEqual(BAR_ROOM);
    }
  });

  it("has room for words beside the boxes, unless that would cost the boxes", () => {
    const folded = scene(new Set(), roomFor(USUAL.width, USUAL.height, false));
    const rightOf = (words: number): number => {
      const bounds = { x: folded.left, y: 0, w: folded.width + words, h: folded.height };
      const { x, zoom } = firstViewport(folded, USUAL, bounds);
      return x + (bounds.x + bounds.w) * zoom;
    };
    expect(rightOf(200)).toBeLessThanOrEqual(USUAL.width);
    expect(firstViewport(folded, USUAL, { x: 0, y: 0, w: 9000, h: 9 })).toEqual(firstViewport(folded, USUAL));
  });

  it("makes cards narrower where there is little room", () => {
    expect(roomFor(SMALL.width, SMALL.height, false).compact).toBe(true);
    expect(roomFor(USUAL.width, USUAL.height, false).compact).toBe(false);
    expect(scene(new Set(), roomFor(588, 490, false)).width).toBeLessThan(scene(new Set(), ROOMY).width);
  });

  it("begins at the top, in full width, with what cannot be shown at once", () => {
    const open = scene(allGroups(model), ROOMY);
    const at = firstViewport(open, USUAL);
    expect(at.zoom).toBeGreaterThanOrEqual(READABLE_ZOOM);
    expect(worldRect(at, USUAL.width, USUAL.height).y).toBeLessThanOrEqual(0);
  });
});

describe("a large canvas", () => {
  const LARGE = { width: 2030, height: 1280 };
  const pictureOf = (open: ReadonlySet<number>) => ({
    ...{ model, classes, rough, serial: 1 },
    scene: scene(open, roomFor(LARGE.width, LARGE.height, false)),
  });

  it("shows a folded graph larger, and opens one level more where everything is in view", () => {
    const folded = pictureOf(new Set());
    expect(fitBetweenBars(folded.scene, LARGE).zoom).toBeGreaterThan(1);
    const opened = nextLevel(folded, LARGE);
    expect(opened.length).toBeGreaterThan(0);
    expect(pictureOf(new Set(opened)).scene.boxCount).toBeGreaterThan(folded.scene.boxCount);
  });

  it("leaves a graph alone that has no room, and a smaller canvas", () => {
    expect(nextLevel(pictureOf(allGroups(model)), LARGE)).toEqual([]);
    expect(nextLevel(pictureOf(new Set()), USUAL)).toEqual([]);
  });
});

describe("a map of every op", () => {
  it("fits into the window at a size at which blocks are seen", () => {
    const strip = scene(allGroups(model), ROOMY);
    const map = scene(allGroups(model), roomFor(USUAL.width, USUAL.height, true));
    const [asStrip, asMap] = [fitBetweenBars(strip, USUAL), fitBetweenBars(map, USUAL)];
    expect(asMap.zoom).toBeGreaterThan(3 * asStrip.zoom);
    expect(showsEverything(map, asMap, USUAL)).toBe(true);
  });
});

describe("another size of the window", () => {
  it("keeps what was in the middle in the middle", () => {
    const before = { width: 900, height: 700 };
    const now = { width: 500, height: 400 };
    const at = { x: 30, y: -200, zoom: 0.8 };
    const next = keepMiddle(at, before, now);
    const middle = (view: ReturnType<typeof worldRect>) => [view.x + view.w / 2, view.y + view.h / 2];
    const [was, is] = [middle(worldRect(at, 900, 700)), middle(worldRect(next, 500, 400))];
    expect(is[0]).toBeCloseTo(was[0]!);
    expect(is[1]).toBeCloseTo(was[1]!);
  });
});
