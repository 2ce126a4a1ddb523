/**
 * The 16-bit floats, both ways, and rounding to them. f16 (IEEE 754 binary16: 1 sign, 5 exponent,
 * 10 mantissa bits) and bf16 (the upper half of an f32). Towards 16 bits: round to nearest, ties to
 * even; a NaN stays one, quiet, with its sign (f16) or also its upper payload (bf16). The same bits
 * as ggml's own conversions; Node 20 has no Float16Array.
 */
const scratch = new ArrayBuffer(4);
const scratchF32 = new Float32Array(scratch);
const scratchU32 = new Uint32Array(scratch);

/** The f32 of each of the 65 536 halves. */
let table: Float32Array | undefined;

export function f16Table(): Float32Array {
  table ??= makeTable();
  return table;
}

function makeTable(): Float32Array {
  const bits = new Uint32Array(65_536);
  const values = new Float32Array(bits.buffer);
  for (let half = 0; half < 32_768; half++) {
    const exponent = half >> 10;
    const mantissa = half & 0x3ff;
    if (exponent === 0)
      values[half] = mantissa * 2 ** -24; // subnormal, exact in f32
    else if (exponent < 31) bits[half] = ((exponent + 112) << 23) | (mantissa << 13);
    else bits[half] = 0x7f800000 | (mantissa << 13) | (mantissa === 0 ? 0 : 0x400000);
    bits[half | 0x8000] = (bits[half] ?? 0) | 0x80000000;
  }
  return values;
}

export const f16ToF32 = (half: number): number => f16Table()[half & 0xffff] ?? 0;

export function f32ToF16(value: number): number {
  scratchF32[0] = value;
  const bits = scratchU32[0] ?? 0;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00; // 65520 and above round to infinity
  if (magnitude >= 0x38800000) {
    // Normal: drop 13 bits; the carry of the rounding runs into the exponent as it should.
    const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
    return sign | ((rounded >>> 13) - 0x1c000);
  }
  // Subnormal or zero: count units of 2^-24. The double product is exact, so ties are seen as ties.
  const units = Math.abs(scratchF32[0] ?? 0) * 2 ** 24;
  const down = Math.floor(units);
  const rest = units - down;
  return sign | (rest > 0.5 || (rest === 0.5 && (down & 1) === 1) ? down + 1 : down);
}

export function bf16ToF32(half: number): number {
  scratchU32[0] = (half & 0xffff) << 16;
  return scratchF32[0] ?? 0;
}

export function f32ToBf16(value: number): number {
  scratchF32[0] = value;
  const bits = scratchU32[0] ?? 0;
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 64;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

/** Little-endian, as all block formats have their scales. */
export const f16At = (bytes: Uint8Array, at: number): number =>
  f16Table()[(bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)] ?? 0;

export function f16BytesToF32(bytes: Uint8Array, out: Float32Array): void {
  const values = f16Table();
  for (let i = 0; i < out.length; i++) out[i] = values[(bytes[2 * i] ?? 0) | ((bytes[2 * i + 1] ?? 0) << 8)] ?? 0;
}

export function bf16BytesToF32(bytes: Uint8Array, out: Float32Array): void {
  const bits = new Uint32Array(out.buffer, out.byteOffset, out.length);
  for (let i = 0; i < bits.length; i++) bits[i] = ((bytes[2 * i] ?? 0) << 16) | ((bytes[2 * i + 1] ?? 0) << 24);
}

export function f32ToF16Array(values: ArrayLike<number>): Uint16Array {
  const out = new Uint16Array(values.length);
  for (let i = 0; i < out.length; i++) out[i] = f32ToF16(values[i] ?? 0);
  return out;
}

export function f32ToBf16Array(values: Float32Array): Uint16Array {
  const out = new Uint16Array(values.length);
  for (let i = 0; i < out.length; i++) out[i] = f32ToBf16(values[i] ?? 0);
  return out;
}

export function f16ToF32Array(halves: ArrayLike<number>): Float32Array {
  const lookup = f16Table();
  const out = new Float32Array(halves.length);
  for (let i = 0; i < out.length; i++) out[i] = lookup[halves[i] ?? 0] ?? 0;
  return out;
}

/** The nearest half of a float32, as a number. */
export const roundToHalf = (value: number): number => f16ToF32(f32ToF16(value));

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

interface Format {
  /** Bits after the point. */
  readonly mantissa: number;
  /** Exponent of the smallest normal number. */
  readonly minExponent: number;
  readonly largest: number;
}

const FORMATS: Readonly<Record<string, Format | undefined>> = {
  f16: { mantissa: 10, minExponent: -14, largest: 65504 },
  bf16: { mantissa: 7, minExponent: -126, largest: (2 - 2 ** -7) * 2 ** 127 },
};

const view = new DataView(new ArrayBuffer(8));

function exponentOf(x: number): number {
  view.setFloat64(0, x);
  return ((view.getUint16(0) >>> 4) & 0x7ff) - 1023;
}

/**
 * The nearest number of a narrower float, from float64 at once: to nearest, ties to even, with
 * subnormals and overflow.
 */
export function roundToFloat(x: number, dtype: string): number {
  if (dtype === "f32") return Math.fround(x);
  const format = FORMATS[dtype];
  if (format === undefined || x === 0 || !Number.isFinite(x)) return x;
  const step = 2 ** (Math.max(exponentOf(x), format.minExponent) - format.mantissa);
  // Adding and taking away 2^52 leaves a whole number, ties to even.
  const rounded = (Math.abs(x) / step + 2 ** 52 - 2 ** 52) * step;
  return Math.sign(x) * (rounded > format.largest ? Infinity : rounded);
}
