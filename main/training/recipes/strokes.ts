/**
 * Digits as strokes: each is drawn by a few lines and arcs, then turned, sheared, scaled and moved by chance, and drawn with a pen
 * of some width. What comes out has the form of MNIST: 28 × 28 grey values, the ink in the middle.
 */
import { below, randomOf } from "../data/order.ts";

export const DIGIT_SIZE = 28;
export const DIGIT_CLASSES = 10;

type Point = readonly [x: number, y: number];
type Stroke = readonly Point[];

/** Points of an ellipse between two angles in degrees; 0 is right, 90 is down. */
function arc([x, y]: Point, [width, height]: Point, from: number, to: number): Stroke {
  const parts = Math.max(3, Math.ceil(Math.abs(to - from) / 25));
  return Array.from({ length: parts + 1 }, (_, i): Point => {
    const angle = ((from + ((to - from) * i) / parts) * Math.PI) / 180;
    return [x + width * Math.cos(angle), y + height * Math.sin(angle)];
  });
}

/** In a square from −1 to 1, y downwards. */
const SHAPES: readonly (readonly Stroke[])[] = [
  [arc([0, 0], [0.55, 0.85], 0, 360)],
  [
    [
      [-0.3, -0.5],
      [0.1, -0.85],
      [0.1, 0.85],
    ],
  ],
  [[...arc([0, -0.35], [0.5, 0.5], 190, 390), [-0.5, 0.85], [0.55, 0.85]]],
  [[...arc([-0.05, -0.42], [0.48, 0.43], 200, 450), ...arc([-0.05, 0.42], [0.55, 0.43], 270, 520)]],
  [
    [
      [0.25, 0.85],
      [0.25, -0.85],
      [-0.55, 0.35],
      [0.6, 0.35],
    ],
  ],
  [[[0.5, -0.85], [-0.4, -0.85], [-0.45, -0.1], ...arc([0, 0.3], [0.52, 0.52], 230, 510)]],
  [[[0.35, -0.85], ...arc([0.02, 0.32], [0.5, 0.52], 205, 565)]],
  [
    [
      [-0.5, -0.85],
      [0.5, -0.85],
      [-0.1, 0.85],
    ],
  ],
  [arc([0, -0.42], [0.42, 0.42], 90, 450), arc([0, 0.42], [0.5, 0.43], -90, 270)],
  [[...arc([0, -0.35], [0.48, 0.48], 0, 360), [0.42, 0.85]]],
];

/** One image of a digit, 0 … 1. */
export function drawDigit(digit: number, random: () => number): Float32Array {
  const wobble = (most: number): number => (2 * random() - 1) * most;
  const turn = wobble(0.22);
  const [cos, sin, shear] = [Math.cos(turn), Math.sin(turn), wobble(0.25)];
  const [wide, tall] = [8.2 + wobble(1.6), 9.2 + wobble(1)];
  const [left, top] = [DIGIT_SIZE / 2 + wobble(1.6), DIGIT_SIZE / 2 + wobble(1.6)];
  const pen = 1 + random() * 0.9;
  const image = new Float32Array(DIGIT_SIZE * DIGIT_SIZE);
  for (const stroke of SHAPES[digit] ?? []) {
    const points = stroke.map(([x, y]): Point => {
      const [u, v] = [(x + shear * y + wobble(0.05)) * wide, (y + wobble(0.05)) * tall];
      return [left + u * cos - v * sin, top + u * sin + v * cos];
    });
    points.slice(1).forEach((end, i) => drawLine(image, points[i] ?? end, end, pen));
  }
  return image;
}

/** The darkest of what was there and a line with soft edges. */
function drawLine(image: Float32Array, [ax, ay]: Point, [bx, by]: Point, pen: number): void {
  const reach = pen + 1;
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy || 1;
  const first = (a: number, b: number): number => Math.max(0, Math.floor(Math.min(a, b) - reach));
  const last = (a: number, b: number): number => Math.min(DIGIT_SIZE - 1, Math.ceil(Math.max(a, b) + reach));
  for (let y = first(ay, by); y <= last(ay, by); y++)
    for (let x = first(ax, bx); x <= last(ax, bx); x++) {
      const along = Math.min(1, Math.max(0, ((x + 0.5 - ax) * dx + (y + 0.5 - ay) * dy) / length));
      const [offX, offY] = [x + 0.5 - ax - along * dx, y + 0.5 - ay - along * dy];
      const ink = Math.min(1, Math.max(0, pen + 0.5 - Math.sqrt(offX * offX + offY * offY)));
      const at = y * DIGIT_SIZE + x;
      image[at] = Math.max(image[at] ?? 0, ink);
    }
}

export interface Digits {
  /** Rows of DIGIT_SIZE² values. */
  readonly images: Float32Array;
  readonly labels: Uint8Array;
}

const AT_ONCE = 100;

/** So many digits by chance; `pace` is called between pieces of the work. */
export async function drawDigits(count: number, seed: number, pace: () => Promise<void>): Promise<Digits> {
  const size = DIGIT_SIZE * DIGIT_SIZE;
  const images = new Float32Array(count * size);
  const labels = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    if (i % AT_ONCE === AT_ONCE - 1) await pace();
    const random = randomOf(seed, i);
    const digit = below(random, DIGIT_CLASSES);
    labels[i] = digit;
    images.set(drawDigit(digit, random), i * size);
  }
  return { images, labels };
}
