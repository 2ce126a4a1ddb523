// Rounds end when every pair is decided, and no round begins that would end behind the time.
import { describe, expect, it } from "vitest";
import { decidingRounds } from "./decidingRounds.ts";

const [pp, tg] = [
  { test: "pp", tokens: 8, depth: 0 },
  { test: "tg", tokens: 4, depth: 0 },
] as const;
/** Two tests on two subjects. */
const CELLS = [pp, tg].flatMap((work) => [0, 1].map((subject) => ({ work, subject })));

/** Rounds of so many seconds until it stops; `rate` gives that of a cell in a round. */
function rounds(rate: (cell: number, round: number) => number, each: number, seconds: number) {
  let time = 0;
  let done = 0;
  const deciding = decidingRounds(CELLS, {
    seconds,
    now: () => time,
    rates: (cell) => Array.from({ length: done }, (_, round) => rate(cell, round)),
  });
  for (let next = "go on"; next === "go on"; next = deciding.afterRound()) {
    time += each;
    done++;
  }
  return { done, time, decided: [...deciding.decided()] };
}

describe("deciding rounds", () => {
  it("end when all tests are decided, each against the same of the first subject", () => {
    expect(rounds((cell) => 100 + cell, 0.1, 60)).toMatchObject({
      done: 6,
      decided: [
        [1, "clear"],
        [3, "clear"],
      ],
    });
  });

  it("go on for the test that is open, and keep what was told of the other", () => {
    // The prompts are plain; the answers win and lose in turn, and only by much.
    const { done, decided } = rounds((cell, round) => (cell === 3 && round % 2 === 0 ? 50 : 100 + cell), 0.25, 7.5);
    expect(done).toBe(30);
    expect(decided).toEqual([
      [1, "clear"],
      [3, "open"],
    ]);
  });

  it("begin no round that would end behind the time", () => {
    const { done, time } = rounds(() => 100, 7, 30);
    expect({ done, time }).toEqual({ done: 4, time: 28 });
  });
});
