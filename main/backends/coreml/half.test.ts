// Half precision against its definition: every half decodes and encodes to itself, and rounding is to nearest even.
import { expect, it } from "vitest";
import {
  floatsFromHalves,
  halfFromNumber,
  halfTable,
  halvesFromFloats,
  numberFromHalf,
  roundArrayToHalf,
  roundToHalf,
} from "./half.ts";

/** The nearest half by search over the two neighbours, ties to the even mantissa. */
function nearest(value: number): number {
  const table = halfTable();
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

it("every half is itself", () => {
  const isNan = (h: number): boolean => (h & 0x7c00) === 0x7c00 && (h & 0x3ff) !== 0;
  const wrong: number[] = [];
  for (let h = 0; h < 65536; h++) {
    const value = numberFromHalf(h);
    if (isNan(h) ? !Number.isNaN(value) : halfFromNumber(value) !== h) wrong.push(h);
  }
  expect(wrong).toEqual([]);
});

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
  expect(Array.from(floatsFromHalves(halvesFromFloats(values)))).toEqual(expected);
});

it("keeps signed zeros, infinities and NaN", () => {
  const special = new Float32Array([0, -0, Infinity, -Infinity, NaN, -1e-9]);
  roundArrayToHalf(special);
  expect([...special]).toEqual([0, -0, Infinity, -Infinity, NaN, -0]);
});
