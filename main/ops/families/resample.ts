/** Where the places of a resampled axis read, and with which weights: what `interpolate` is made of, one axis after the other. */
import { WorkbenchError } from "../../diagnostics/errors.ts";

export const INTERPOLATIONS = ["nearest", "linear", "cubic"] as const;
export type Interpolation = (typeof INTERPOLATIONS)[number];
/**
 * Which places of both axes lie on one another. half_pixel: the outer edges (JAX, PyTorch as it comes) · align_corners:
 * the middles of the first and of the last · asymmetric: the left edges (PyTorch's "nearest").
 */
export const POSITIONS = ["half_pixel", "align_corners", "asymmetric"] as const;
export type Positions = (typeof POSITIONS)[number];

/** One place that every place of the result reads, and its weight there. */
export interface Tap {
  readonly places: Int32Array;
  readonly weights: Float64Array;
}

/** Sizes of a result: a table of places and weights is made for each axis. */
export const MOST_PLACES = 2 ** 24;

function positionOf(i: number, from: number, to: number, positions: Positions): number {
  switch (positions) {
    case "half_pixel":
      return ((i + 0.5) * from) / to - 0.5;
    case "align_corners":
      return to === 1 ? 0 : (i * (from - 1)) / (to - 1);
    case "asymmetric":
      return (i * from) / to;
  }
}

/** Keys (1981) with a = -3/4, as PyTorch and ONNX have it. */
function cubicWeight(distance: number): number {
  const [d, a] = [Math.abs(distance), -0.75];
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0;
}

const REACH: { readonly [I in Interpolation]: readonly number[] } = {
  nearest: [0],
  linear: [0, 1],
  cubic: [-1, 0, 1, 2],
};

/** The place nearest to a position; between two the one further on, of left edges the one before. */
const nearestTo = (position: number, positions: Positions): number =>
  Math.floor(positions === "asymmetric" ? position : position + 0.5);

/** Places beyond the edge are the edge. */
export function tapsOf(from: number, to: number, mode: Interpolation, positions: Positions): readonly Tap[] {
  if (from < 1)
    throw new WorkbenchError("IR_SHAPE", "[interpolate] an axis without places: got 0, expected at least 1");
  const all = Float64Array.from({ length: to }, (_, i) => positionOf(i, from, to, positions));
  return REACH[mode].map((step) => {
    const base = (position: number): number =>
      mode === "nearest" ? nearestTo(position, positions) : Math.floor(position);
    const weight = (position: number): number => {
      const distance = position - Math.floor(position) - step;
      if (mode === "nearest") return 1;
      return mode === "linear" ? 1 - Math.abs(distance) : cubicWeight(distance);
    };
    return {
      places: Int32Array.from(all, (position) => Math.min(Math.max(base(position) + step, 0), from - 1)),
      weights: all.map(weight),
    };
  });
}
