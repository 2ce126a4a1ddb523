import { expect, it } from "vitest";
import { finish } from "../ir/steps.ts";
import { seededRandom } from "../testing/random.ts";
import { mergeSymbols } from "./merge.ts";

/** By the definition: the best pair, the leftmost of equals, until none is known. */
function merged(starts: readonly number[], rankOf: (from: number, middle: number, to: number) => number): number[] {
  const left = [...starts];
  for (;;) {
    const ranks = left.slice(0, -2).map((from, i) => rankOf(from, left[i + 1]!, left[i + 2]!));
    const best = Math.min(Infinity, ...ranks);
    if (best === Infinity) return left;
    left.splice(ranks.indexOf(best) + 1, 1);
  }
}

it("joins the best pair, the leftmost of equals, in short and in long texts", () => {
  const random = seededRandom(3);
  for (const count of [0, 1, 2, 3, 5, 17, 31, 32, 33, 34, 60])
    for (let turn = 0; turn < 20; turn++) {
      const starts = [0];
      for (let i = 0; i < count; i++) starts.push(starts[i]! + 1 + random.integer(3));
      // Few ranks, so that many are equal, and some pairs are unknown.
      const salt = random.integer(1000);
      const rankOf = (from: number, middle: number, to: number): number => {
        const rank = (from * 7 + middle * 13 + to * 29 + salt) % 11;
        return rank > 7 ? Infinity : rank;
      };
      const given = Int32Array.from(starts);
      const kept = finish(mergeSymbols(given, count, rankOf));
      expect([...given.subarray(0, kept + 1)], `${count} symbols`).toEqual(merged(starts, rankOf));
    }
});
