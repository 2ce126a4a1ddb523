/**
 * 16-bit floats: every half there and back, and rounding where it is hardest. ggml's own answers
 * are in quant.oracle.test.ts.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bf16ToF32,
  f16Table,
  f16ToF32,
  f16ToF32Array,
  f32ToBf16,
  f32ToF16,
  f32ToF16Array,
  roundArrayToHalf,
  roundToFloat,
  roundToHalf,
} from "./half.ts";

describe("f16", () => {
  it("comes back from f32 unchanged, all 65 536 of them", () => {
    for (let half = 0; half < 65_536; half++) {
      const value = f16ToF32(half);
      if (Number.isNaN(value)) expect(f32ToF16(value) & 0x7fff).toBe(0x7e00);
      else if (f32ToF16(value) !== half) throw new Error(`${half} became ${f32ToF16(value)} through ${value}`);
    }
  });

  it("has the values the standard gives", () => {
    const known: [number, number][] = [
      [0x0001, 2 ** -24],
      [0x03ff, 1023 * 2 ** -24],
      [0x0400, 2 ** -14],
      [0x3c00, 1],
      [0x3555, 0.333251953125],
      [0x7bff, 65_504],
      [0x7c00, Infinity],
      [0xfc00, -Infinity],
      [0xc000, -2],
    ];
    for (const [half, value] of known) expect(f16ToF32(half)).toBe(value);
    expect(Object.is(f16ToF32(0x8000), -0)).toBe(true);
  });

  it("rounds to nearest, ties to even", () => {
    expect(f32ToF16(1 + 2 ** -11)).toBe(0x3c00);
    expect(f32ToF16(1 + 3 * 2 ** -11)).toBe(0x3c02);
    expect(f32ToF16(1 + 2 ** -11 + 2 ** -23)).toBe(0x3c01);
    expect(f32ToF16(65_519.996)).toBe(0x7bff);
    expect(f32ToF16(65_520)).toBe(0x7c00);
    expect(f32ToF16(2 ** -25)).toBe(0);
    expect(f32ToF16(2 ** -25 + 2 ** -40)).toBe(1);
    expect(f32ToF16(1.5 * 2 ** -24)).toBe(2);
    expect(f32ToF16(2 ** -14 - 2 ** -26)).toBe(0x0400);
    expect(f32ToF16(-(2 ** -25))).toBe(0x8000);
    expect(f32ToF16(1e-40)).toBe(0);
  });
});

describe("bf16", () => {
  it("is the upper half of an f32, rounded to nearest even", () => {
    expect(f32ToBf16(1)).toBe(0x3f80);
    expect(f32ToBf16(1 + 2 ** -8)).toBe(0x3f80);
    expect(f32ToBf16(1 + 3 * 2 ** -8)).toBe(0x3f82);
    expect(f32ToBf16(3.4028234663852886e38)).toBe(0x7f80);
    expect(f32ToBf16(-Infinity)).toBe(0xff80);
    expect(Number.isNaN(bf16ToF32(f32ToBf16(NaN)))).toBe(true);
    for (let half = 0; half < 65_536; half++) {
      const value = bf16ToF32(half);
      if (!Number.isNaN(value) && f32ToBf16(value) !== half) throw new Error(`${half} became ${f32ToBf16(value)}`);
    }
  });
});

describe("roundToFloat", () => {
  // The conversions of main/formats are checked against ggml bit for bit; here the two ways must agree.
  const floats = fc.oneof(
    fc.float({ noNaN: true }),
    fc.double({ min: -70000, max: 70000 }).map(Math.fround),
    fc.double({ min: -1e-4, max: 1e-4 }).map(Math.fround),
  );
  it("equals the bit-level conversion to half", () => {
    fc.assert(
      fc.property(floats, (x) => {
        expect(roundToFloat(x, "f16")).toBe(f16ToF32(f32ToF16(x)));
      }),
      { numRuns: 5000 },
    );
  });
  it("equals the bit-level conversion to bfloat16", () => {
    fc.assert(
      fc.property(floats, (x) => {
        expect(roundToFloat(x, "bf16")).toBe(bf16ToF32(f32ToBf16(x)));
      }),
      { numRuns: 5000 },
    );
  });
  it("rounds ties to even, overflows, and keeps what is exact", () => {
    expect(roundToFloat(1 + 2 ** -11, "f16")).toBe(1);
    expect(roundToFloat(1 + 3 * 2 ** -11, "f16")).toBe(1 + 2 ** -9);
    expect(roundToFloat(65520, "f16")).toBe(Infinity);
    expect(roundToFloat(65519, "f16")).toBe(65504);
    expect(roundToFloat(-(2 ** -24), "f16")).toBe(-(2 ** -24));
    expect(roundToFloat(Number.NaN, "f16")).toBeNaN();
    expect(roundToFloat(0.1, "f32")).toBe(Math.fround(0.1));
    expect(roundToFloat(0.1, "f64")).toBe(0.1);
  });
});

/** The nearest half by search over the two neighbours, ties to the even mantissa. */
function nearest(value: number): number {
  const table = f16Table();
  const size = Math.abs(value);
  let low = 0;
  let high = 0x7c00;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((table[middle] as number) <= size) low = middle;
    else high = middle - 1;
  }
  if (low >= 0x7bff) return size < 65520 ? 65504 : Infinity;
  const [below, above] = [table[low] as number, table[low + 1] as number];
  const [down, up] = [size - below, above - size];
  return down < up || (down === up && low % 2 === 0) ? below : above;
}

it("rounds to nearest, ties to even, one at a time and in place", () => {
  let seed = 12345;
  const random = (): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const values = new Float32Array(20_000);
  for (let i = 0; i < values.length; i++) {
    const exponent = Math.floor(random() * 48) - 28;
    const tie = random() < 0.3;
    values[i] =
      (random() < 0.5 ? -1 : 1) *
      (tie ? (Math.floor(random() * 4096) + 0.5) * 2 ** (exponent - 11) : (1 + random()) * 2 ** exponent);
  }
  const expected = Array.from(values, (v) => Math.sign(v) * nearest(v));
  expect(Array.from(values, roundToHalf)).toEqual(expected);
  const inPlace = values.slice();
  roundArrayToHalf(inPlace);
  expect(Array.from(inPlace)).toEqual(expected);
  expect(Array.from(f16ToF32Array(f32ToF16Array(values)))).toEqual(expected);
});

it("keeps signed zeros, infinities and NaN", () => {
  const special = new Float32Array([0, -0, Infinity, -Infinity, NaN, -1e-9]);
  roundArrayToHalf(special);
  expect([...special]).toEqual([0, -0, Infinity, -Infinity, NaN, -0]);
});
