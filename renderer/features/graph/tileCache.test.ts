// A canvas that only notes what is asked of it stands for the browser's.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Rect } from "../../graph/gridIndex.ts";
import { createTileCache } from "./tileCache.ts";
import type { TileCache } from "./tileCache.ts";

interface Placed {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

class FakeCanvas {
  readonly width: number;
  readonly height: number;
  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
  }
  getContext(): unknown {
    return { setTransform: () => undefined };
  }
}

const size = { width: 900, height: 700 };
const bounds: Rect = { x: -5000, y: 0, w: 10_000, h: 20_000 };
const zoom = 0.1;

let tiles: TileCache;
let rendered: Rect[];

beforeEach(() => {
  vi.stubGlobal("OffscreenCanvas", FakeCanvas);
  tiles = createTileCache(bounds);
  rendered = [];
});
afterEach(() => {
  vi.unstubAllGlobals();
});

function show(x: number, y: number, at = zoom, ratio = 1): { readonly placed: Placed[]; readonly kind: string } {
  const placed: Placed[] = [];
  const target = {
    setTransform: () => undefined,
    drawImage: (_tile: unknown, px: number, py: number, w: number, h: number) => placed.push({ x: px, y: py, w, h }),
  } as unknown as CanvasRenderingContext2D;
  const kind = tiles.show(target, { x, y, zoom: at }, size, ratio, (part) => {
    rendered.push(part);
    return () => undefined;
  });
  return { placed, kind };
}

/** Every pixel of the screen that shows the picture lies in exactly one tile. */
function expectCovered(placed: readonly Placed[], x: number, y: number, at: number, ratio = 1): void {
  const [left, top] = [bounds.x * at + x, bounds.y * at + y];
  const [right, bottom] = [left + bounds.w * at, top + bounds.h * at];
  for (let px = 3; px < size.width; px += 37)
    for (let py = 3; py < size.height; py += 41) {
      if (px < left + 1 || px > right - 1 || py < top + 1 || py > bottom - 1) continue;
      const [u, v] = [px * ratio + 0.5, py * ratio + 0.5];
      expect(placed.filter((one) => u > one.x && u < one.x + one.w && v > one.y && v < one.y + one.h)).toHaveLength(1);
    }
}

test("a pan draws only what comes into view", () => {
  expectCovered(show(450, 0.4).placed, 450, 0.4, zoom);
  const first = rendered.length;
  expect(first).toBeGreaterThan(0);
  show(450, -20);
  show(440.5, -30.25);
  expect(rendered).toHaveLength(first);
  const { placed } = show(440.5, -300);
  expect(rendered.length - first).toBeLessThanOrEqual(5);
  expectCovered(placed, 440.5, -300, zoom);
});

test("nothing is drawn where there is no picture", () => {
  expect(show(450, 1000).placed).toEqual([]);
  expect(rendered).toEqual([]);
});

test("nothing is kept or shown where nothing is drawn", () => {
  let asked = 0;
  const target = { setTransform: () => undefined, drawImage: () => expect.fail("nothing to show") };
  const look = (): string =>
    tiles.show(target as unknown as CanvasRenderingContext2D, { x: 450, y: 0, zoom }, size, 1, () => {
      asked++;
      return null;
    });
  look();
  const first = asked;
  expect(first).toBeGreaterThan(0);
  expect(look()).toBe("exact");
  expect(asked).toBe(first);
});

test("a tile is drawn from all of the world that it shows, also where its pixels are not whole ones of the page", () => {
  for (const ratio of [0.67, 0.9, 1.1, 1.2, 2]) {
    rendered = [];
    tiles = createTileCache({ x: 0, y: 0, w: 200_000, h: 7000 });
    const { placed } = show(-9000, 0, zoom, ratio);
    expect(placed).toHaveLength(rendered.length);
    placed.forEach(({ x, y, w, h }, i) => {
      const { x: left, y: top, w: width, h: height } = rendered[i]!;
      const [from, to] = [(x / ratio + 9000) / zoom, ((x + w) / ratio + 9000) / zoom];
      expect(left).toBeLessThan(from);
      expect(left + width).toBeGreaterThan(to);
      expect(top).toBeLessThan(y / ratio / zoom);
      expect(top + height).toBeGreaterThan((y + h) / ratio / zoom);
    });
  }
});

test("a look at nothing costs no tile that was drawn", () => {
  tiles = createTileCache({ x: 0, y: 0, w: 7000, h: 5000 });
  show(0, 0);
  const first = rendered.length;
  for (let y = 0; y > -9000; y -= 200) show(0, y);
  for (let x = 0; x < 9000; x += 200) show(x, -9000);
  show(0, 0);
  expect(rendered).toHaveLength(first);
});

test("tiles meet on whole pixels, at any zoom and pixel ratio", () => {
  for (const ratio of [1, 1.5, 2])
    for (const at of [0.1, 0.137, 0.06]) {
      const { placed } = show(300.3, -77.7, at, ratio);
      expect(placed.every(({ x, y, w, h }) => [x, y, w, h].every(Number.isInteger))).toBe(true);
      expectCovered(placed, 300.3, -77.7, at, ratio);
    }
});

test("a zoom stretches what is there until it rests or goes too far", () => {
  expect(show(450, -500).kind).toBe("exact");
  const first = rendered.length;
  expect(show(450, -500, 0.15).kind).toBe("stretched");
  expect(rendered).toHaveLength(first);
  tiles.refresh();
  expect(show(450, -500, 0.15).kind).toBe("exact");
  expect(rendered.length).toBeGreaterThan(first);
  expect(show(450, -500, 0.05).kind).toBe("exact");
});

test("far from where it was, old tiles are given up", () => {
  tiles = createTileCache({ x: 0, y: 0, w: 200_000, h: 7000 });
  show(0, 0);
  const first = rendered.length;
  for (let x = 0; x > -1000; x -= 100) show(x, 0);
  const near = rendered.length;
  show(0, 0);
  expect(rendered).toHaveLength(near);
  for (let x = 0; x > -10_000; x -= 100) show(x, 0);
  const far = rendered.length;
  show(0, 0);
  expect(rendered.length - far).toBe(first);
});
