import { describe, expect, it } from "vitest";
import { LAYOUTS, MINIFLOATS, decoded, encoded } from "./minifloat.ts";

describe.each(MINIFLOATS)("%s", (format) => {
  const { sign, most } = LAYOUTS[format];
  const codes = Array.from({ length: 2 * sign }, (_, code) => code);

  it("gives every number its own code back", () => {
    const numbers = codes.filter((code) => Number.isFinite(decoded(code, format)));
    expect(numbers.map((code) => encoded(decoded(code, format), format))).toEqual(numbers);
  });

  it("rounds halves to even codes, and what is too large to the largest", () => {
    const positive = codes.slice(0, sign).filter((code) => decoded(code, format) <= most);
    for (const code of positive.slice(0, -1)) {
      const half = (decoded(code, format) + decoded(code + 1, format)) / 2;
      expect(encoded(half, format)).toBe(code % 2 === 0 ? code : code + 1);
    }
    expect(decoded(encoded(Infinity, format), format)).toBe(most);
    expect(decoded(encoded(-2 * most, format), format)).toBe(-most);
  });
});

it("has the codes without a number that the formats have", () => {
  const without = (format: (typeof MINIFLOATS)[number], test: (value: number) => boolean): readonly number[] =>
    Array.from({ length: 128 }, (_, code) => code).filter((code) => test(decoded(code, format)));
  expect(without("e4m3", Number.isNaN)).toEqual([0x7f]);
  expect(without("e5m2", Number.isNaN)).toEqual([0x7d, 0x7e, 0x7f]);
  expect(without("e5m2", (value) => value === Infinity)).toEqual([0x7c]);
  expect(without("e2m1", (value) => !Number.isFinite(value))).toEqual([]);
  expect(MINIFLOATS.map((format) => encoded(NaN, format))).toEqual([0x7f, 0x7e, 0]);
});
