import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { f32ToBf16, f32ToF16, bf16ToF32, f16ToF32 } from "../quant/half.ts";
import { roundToFloat } from "./roundFloat.ts";

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
