import { describe, expect, it } from "vitest";
import { multiplyWhole, powerWhole, wrapWhole } from "./wholeNumbers.ts";

describe("whole numbers", () => {
  it("count modulo two to the power of their bits", () => {
    expect(wrapWhole(227, "i8")).toBe(-29);
    expect(wrapWhole(-2, "u8")).toBe(254);
    expect(wrapWhole(128, "i8")).toBe(-128);
    expect(wrapWhole(-40000, "i16")).toBe(25536);
    expect(wrapWhole(2 ** 32 + 7, "u32")).toBe(7);
    expect(wrapWhole(2 ** 31, "i32")).toBe(-(2 ** 31));
    expect(wrapWhole(2 ** 63, "i64")).toBe(-(2 ** 63));
    expect(wrapWhole(2 ** 53 + 2, "i64")).toBe(2 ** 53 + 2);
  });

  it("lose fractions towards zero, and have neither infinity nor NaN nor -0", () => {
    expect(wrapWhole(-2.7, "i32")).toBe(-2);
    expect([Infinity, -Infinity, NaN, -0.5].map((x) => wrapWhole(x, "i32"))).toEqual([0, 0, 0, 0]);
  });

  it("leave floats alone", () => {
    expect(wrapWhole(1e300, "f32")).toBe(1e300);
    expect(multiplyWhole(0.5, 3, "f16")).toBe(1.5);
  });

  it("multiply exactly where float64 would round", () => {
    expect(multiplyWhole(2 ** 31 - 1, 2 ** 31 - 1, "i32")).toBe(1);
    expect(multiplyWhole(2 ** 32 - 1, 2 ** 32 - 3, "u32")).toBe(3);
    expect(multiplyWhole(2 ** 40 + 1, 2 ** 40 + 1, "i64")).toBe(2 ** 41 + 1);
  });

  it("raise to powers", () => {
    expect(powerWhole(3, 40, "i32")).toBe(Number(BigInt.asIntN(32, 3n ** 40n)));
    expect(powerWhole(-3, 3, "i8")).toBe(-27);
    expect(powerWhole(7, 0, "u8")).toBe(1);
    expect([1, -1, 2, 0].map((a) => powerWhole(a, -3, "i32"))).toEqual([1, -1, 0, 0]);
  });
});
