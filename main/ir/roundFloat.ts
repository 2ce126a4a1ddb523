/** Rounds a number to a narrower binary float, to nearest, ties to even, with subnormals and overflow to infinity. */
import type { DType } from "./dtype.ts";

interface Format {
  /** Bits after the point. */
  readonly mantissa: number;
  /** Exponent of the smallest normal number. */
  readonly minExponent: number;
  readonly largest: number;
}

const FORMATS: { readonly [D in DType]?: Format } = {
  f16: { mantissa: 10, minExponent: -14, largest: 65504 },
  bf16: { mantissa: 7, minExponent: -126, largest: (2 - 2 ** -7) * 2 ** 127 },
};

const view = new DataView(new ArrayBuffer(8));

function exponentOf(x: number): number {
  view.setFloat64(0, x);
  return ((view.getUint16(0) >>> 4) & 0x7ff) - 1023;
}

export function roundToFloat(x: number, dtype: DType): number {
  if (dtype === "f32") return Math.fround(x);
  const format = FORMATS[dtype];
  if (format === undefined || x === 0 || !Number.isFinite(x)) return x;
  const step = 2 ** (Math.max(exponentOf(x), format.minExponent) - format.mantissa);
  // Adding and taking away 2^52 leaves a whole number, ties to even.
  const rounded = (Math.abs(x) / step + 2 ** 52 - 2 ** 52) * step;
  return Math.sign(x) * (rounded > format.largest ? Infinity : rounded);
}
