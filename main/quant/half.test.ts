/** 16-bit floats: every half there and back, and rounding where it is hardest. ggml's own answers are in quant.oracle.test.ts. */
import { describe, expect, it } from "vitest";
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from "./half.ts";

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
