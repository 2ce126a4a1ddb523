/**
 * IEEE half precision for JavaScript without Float16Array: conversion both ways and rounding of float32 arrays in place,
 * to nearest, ties to even, with subnormals and overflow to infinity.
 */

const floatScratch = new Float32Array(1);
const bitsScratch = new Uint32Array(floatScratch.buffer);

/** float32 bits → half bits. */
export function halfFromFloatBits(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000)
    return sign | 0x7c00 | (magnitude > 0x7f800000 ? 0x200 | ((magnitude >>> 13) & 0x3ff) : 0);
  if (magnitude >= 0x477ff000) return sign | 0x7c00; // ≥ 65520 rounds to infinity
  if (magnitude >= 0x38800000) {
    const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
    return sign | ((rounded - 0x38000000) >>> 13);
  }
  if (magnitude < 0x33000000) return sign; // below half of the smallest subnormal
  const shift = 126 - (magnitude >>> 23);
  const mantissa = (magnitude & 0x7fffff) | 0x800000;
  const half = mantissa >>> shift;
  const rest = mantissa & ((1 << shift) - 1);
  const middle = 1 << (shift - 1);
  return sign | (half + (rest > middle || (rest === middle && (half & 1) === 1) ? 1 : 0));
}

export function halfFromNumber(value: number): number {
  floatScratch[0] = value;
  return halfFromFloatBits(bitsScratch[0] ?? 0);
}

/** Every half as a float32: 256 KB, built on first use, so that decoding is one load. */
let table: Float32Array | undefined;

export function halfTable(): Float32Array {
  if (table !== undefined) return table;
  const made = new Float32Array(65536);
  for (let h = 0; h < 65536; h++) {
    const exponent = (h >>> 10) & 31;
    const mantissa = h & 1023;
    const sign = h & 0x8000 ? -1 : 1;
    if (exponent === 31) made[h] = mantissa === 0 ? sign * Infinity : Number.NaN;
    else made[h] = sign * (exponent === 0 ? mantissa * 2 ** -24 : (1024 + mantissa) * 2 ** (exponent - 25));
  }
  table = made;
  return made;
}

export function numberFromHalf(half: number): number {
  return halfTable()[half & 0xffff] ?? 0;
}

/** The nearest half of one number, as a number. */
export function roundToHalf(value: number): number {
  return numberFromHalf(halfFromNumber(value));
}

/** Rounds every element of a float32 array to half precision, in place. */
export function roundArrayToHalf(values: Float32Array): void {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < bits.length; i++) {
    const u = bits[i] ?? 0;
    const magnitude = u & 0x7fffffff;
    if (magnitude >= 0x38800000 && magnitude < 0x477ff000) bits[i] = (u + 0xfff + ((u >>> 13) & 1)) & 0xffffe000;
    else if (magnitude < 0x38800000) {
      // Adding ±0.75 leaves an ulp of 2^-24, the step of half subnormals.
      const v = values[i] ?? 0;
      values[i] = v < 0 || Object.is(v, -0) ? Math.fround(v - 0.75) + 0.75 : Math.fround(v + 0.75) - 0.75;
      if (values[i] === 0 && u >>> 31 === 1) values[i] = -0;
    } else if (magnitude < 0x7f800000) values[i] = u >>> 31 === 1 ? -Infinity : Infinity;
  }
}

export function halvesFromFloats(values: ArrayLike<number>): Uint16Array {
  const out = new Uint16Array(values.length);
  for (let i = 0; i < out.length; i++) out[i] = halfFromNumber(values[i] ?? 0);
  return out;
}

export function floatsFromHalves(halves: ArrayLike<number>): Float32Array {
  const lookup = halfTable();
  const out = new Float32Array(halves.length);
  for (let i = 0; i < out.length; i++) out[i] = lookup[halves[i] ?? 0] ?? 0;
  return out;
}
