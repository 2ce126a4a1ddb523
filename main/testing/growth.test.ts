// The slope that finds leaks: exact on lines, unmoved by noise or by a quarter of wild samples.
import { expect, it } from "vitest";
import { growth, slope } from "./growth.ts";
import { seededRandom } from "./random.ts";

const KB = 1000;
const LOOKS = 60;

/** Samples that rise by `rise` with `noise` around; every fifth is off by megabytes. */
function looks(seed: number, rise: number, noise: number): readonly number[] {
  const random = seededRandom(seed);
  return Array.from({ length: LOOKS }, (_, i) => {
    const off = i % 5 === 0 ? random.integer(20_000) * KB : 0;
    return 150_000 * KB + i * rise + random.normal() * noise + off;
  });
}

it("is that of a line, up, down and level", () => {
  expect(slope([3, 5, 7, 9])).toBe(2);
  expect(slope([9, 7, 5])).toBe(-2);
  expect(slope([4, 4, 4])).toBe(0);
  expect(slope([1, 2, 3, 1000, 5, 6, 7])).toBe(1);
});

it("tells 100 KB a turn from none among noise of half a megabyte and looks that are off by twenty", () => {
  for (let seed = 1; seed <= 50; seed++) {
    expect(slope(looks(seed, 0, 500 * KB)), `level, ${seed}`).toBeLessThan(48 * KB);
    expect(slope(looks(seed, 100 * KB, 500 * KB)), `rising, ${seed}`).toBeGreaterThan(48 * KB);
  }
});

it("is taken of each measure", () => {
  const many = [0, 1, 2].map((i) => ({ resident: 7 * i, heap: 100 - i, external: 5 }));
  expect(growth(many)).toEqual({ resident: 7, heap: -1, external: 0 });
});
