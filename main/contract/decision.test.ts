// When a difference is told: not by chance more often than in 5 of 100 cases, early where it is plain, never between two looks.
import { describe, expect, it } from "vitest";
import { seededRandom } from "../testing/random.ts";
import { decisionBetween, verdictOf } from "./benchVerdict.ts";
import { decisionOf, MOST_DECIDING_ROUNDS } from "./decision.ts";
import type { Decision } from "./views/bench.ts";

/** Rounds until it is decided, with noise of 5 % on rates of 100 and 100 × `ratio`. */
function measured(seed: number, ratio: number, noise = 0.05): { readonly decision: Decision; readonly rounds: number } {
  const random = seededRandom(seed);
  const [first, second]: [number[], number[]] = [[], []];
  for (let rounds = 1; rounds <= MOST_DECIDING_ROUNDS; rounds++) {
    first.push(100 * (1 + noise * random.normal()));
    second.push(100 * ratio * (1 + noise * random.normal()));
    const decision = decisionOf(first, second);
    if (decision !== "open") return { decision, rounds };
  }
  return { decision: "open", rounds: MOST_DECIDING_ROUNDS };
}

const seeds = Array.from({ length: 1000 }, (_, seed) => seed);

describe("a decision", () => {
  it("takes six of six where the difference is plain", () => {
    expect(seeds.slice(0, 50).map((seed) => measured(seed, 1.5))).toEqual(
      Array.from({ length: 50 }, () => ({ decision: "clear", rounds: 6 })),
    );
  });

  it("is told of two that are alike in at most 5 of 100 cases, however often it was looked", () => {
    const clear = seeds.filter((seed) => measured(seed, 1).decision === "clear").length;
    // 5 % of 1000, and three deviations of that.
    expect(clear).toBeLessThan(50 + 3 * Math.sqrt(1000 * 0.05 * 0.95));
    // Looking at every round at 5 % would be far above: the bound is not kept by never telling.
    expect(clear).toBeGreaterThan(10);
  });

  it("finds a small difference with more rounds", () => {
    const found = seeds.slice(0, 200).map((seed) => measured(seed, 1.05));
    const clear = found.filter(({ decision }) => decision === "clear");
    expect(clear.length).toBeGreaterThan(170);
    expect(Math.max(...clear.map(({ rounds }) => rounds))).toBeGreaterThan(16);
  });

  it("lets go what lies within two in a hundred", () => {
    const found = seeds.slice(0, 100).map((seed) => measured(seed, 1.001, 0.004));
    expect(found.filter(({ decision }) => decision === "even").length).toBeGreaterThan(80);
    expect(Math.max(...found.map(({ rounds }) => rounds))).toBeLessThan(MOST_DECIDING_ROUNDS);
  });

  it("is open between two looks, and of ties", () => {
    const rates = (count: number, rate: number): readonly number[] => Array<number>(count).fill(rate);
    expect([5, 6, 7, 10].map((count) => decisionOf(rates(count, 1), rates(count, 2)))).toEqual([
      ...["open", "clear", "open", "clear"],
    ]);
    expect(decisionOf(rates(6, 1), rates(6, 1))).toBe("open");
  });
});

describe("a verdict of a measurement that ended when it was decided", () => {
  const [first, second] = [
    [100, 101, 99, 100, 102, 98],
    [150, 151, 149, 152, 150, 148],
  ];
  const of = (decision: Decision) => verdictOf({ first, second, paired: true, red: [], decision });

  it("follows the decision where the interval of one look would say more", () => {
    expect(of("clear")).toMatchObject({ kind: "faster", sentence: "The second is 1.50 × as fast." });
    expect(of("open")).toMatchObject({ kind: "even", sentence: "No difference that can be told in this time." });
    expect(of("even")).toMatchObject({ kind: "even", sentence: "They differ by less than 2 %, if at all." });
    expect(verdictOf({ first: [1], second: [2], paired: true, red: [], decision: "open" }).kind).toBe("too few");
  });

  it("takes the decision from the subject that was held against the first", () => {
    const [own, other, third] = [{ subject: 0 }, { subject: 1, decision: "clear" as const }, { subject: 2 }];
    expect([decisionBetween(own, other), decisionBetween(other, own)]).toEqual(["clear", "clear"]);
    expect(decisionBetween(other, third)).toBeUndefined();
  });
});
