/**
 * The rule of whole numbers, which the reference and every backend keep: each dtype counts modulo
 * two to the power of its bits, as NumPy, JAX and C's unsigned numbers do. 100 + 127 of i8 is -29,
 * 3 - 5 of u8 is 254, the negative of -128 is -128. Quotients are cut towards zero; what has no
 * value (a division by zero) is 0.
 *
 * The reference holds numbers as float64. Sums of the widest operands stay exact there but for i64
 * beyond 2^53; products do not, so they are made with BigInt where they could be too long.
 */
import type { DType } from "./dtype.ts";

interface Range {
  readonly bits: number;
  readonly signed: boolean;
}

const RANGES: { readonly [D in DType]?: Range } = {
  u8: { bits: 8, signed: false },
  i8: { bits: 8, signed: true },
  i16: { bits: 16, signed: true },
  u32: { bits: 32, signed: false },
  i32: { bits: 32, signed: true },
  i64: { bits: 64, signed: true },
};

/** Smallest and largest number of a whole dtype that float64 has. */
export function wholeRange(dtype: DType): readonly [low: number, high: number] | undefined {
  const range = RANGES[dtype];
  if (range === undefined) return undefined;
  const low = range.signed ? -(2 ** (range.bits - 1)) : 0;
  return [low, range.bits === 64 ? 2 ** 63 - 1024 : low + 2 ** range.bits - 1];
}

const wrapBig = (x: bigint, { bits, signed }: Range): number =>
  Number(signed ? BigInt.asIntN(bits, x) : BigInt.asUintN(bits, x));

/** What is left of a result in its dtype; floats stay as they are. */
export function wrapWhole(x: number, dtype: DType): number {
  const range = RANGES[dtype];
  if (range === undefined) return x;
  if (!Number.isFinite(x)) return 0;
  const whole = Math.trunc(x) + 0;
  const low = range.signed ? -(2 ** (range.bits - 1)) : 0;
  return whole >= low && whole < low + 2 ** range.bits ? whole : wrapBig(BigInt(whole), range);
}

/** a · b in the dtype. */
export function multiplyWhole(a: number, b: number, dtype: DType): number {
  const product = a * b;
  const range = RANGES[dtype];
  if (range === undefined) return product;
  return Number.isSafeInteger(product) ? wrapWhole(product, dtype) : wrapBig(BigInt(a) * BigInt(b), range);
}

/** a to the power of b in the dtype: repeated products; 1 / aⁿ without its fraction where the exponent is negative. */
export function powerWhole(a: number, b: number, dtype: DType): number {
  if (b < 0) return wrapWhole(a ** b, dtype);
  let [result, base] = [1, a];
  for (let rest = b; rest >= 1; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = multiplyWhole(result, base, dtype);
    base = multiplyWhole(base, base, dtype);
  }
  return result;
}
