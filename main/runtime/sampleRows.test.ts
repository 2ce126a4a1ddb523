/** Drawing in TypeScript: each option changes the probabilities as it says, by numbers worked out by hand. */
import { describe, expect, test } from "vitest";
import type { SampleOptions } from "../ir/session.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { GREEDY_DRAW } from "./generate.ts";
import { draw, scoreRows } from "./sampleRows.ts";

const PLAIN: SampleOptions = { ...GREEDY_DRAW, temperature: 1, seed: 3 };
/** Their softmax is 0.5, 0.25, 0.15, 0.1. */
const LOGITS = [0.5, 0.25, 0.15, 0.1].map(Math.log);
const row = (logits: readonly number[]) => hostTensor("f32", [1, logits.length], Float64Array.from(logits));

const DRAWS = 4000;
function shares(options: Partial<SampleOptions>, logits: readonly number[] = LOGITS): number[] {
  const counts = logits.map(() => 0);
  for (let step = 0; step < DRAWS; step++) counts[draw(row(logits), { ...PLAIN, ...options, step }).id]! += 1;
  return counts.map((count) => count / DRAWS);
}

/** Within four standard deviations; what has no probability is never drawn. */
function expectShares(drawn: readonly number[], exact: readonly number[]): void {
  for (const [id, p] of exact.entries())
    expect(Math.abs(drawn[id]! - p), `token ${id}: drawn ${drawn[id]}, exact ${p}`).toBeLessThanOrEqual(
      4 * Math.sqrt((p * (1 - p)) / DRAWS),
    );
}

describe("a draw", () => {
  test("follows the probabilities of the model", () => {
    expectShares(shares({}), [0.5, 0.25, 0.15, 0.1]);
  });

  test("at another temperature follows their powers", () => {
    // At 0.5 the squares: 0.25, 0.0625, 0.0225 and 0.01, of 0.345.
    expectShares(shares({ temperature: 0.5 }), [0.7246, 0.1812, 0.0652, 0.029]);
    // At 2 the roots: 0.7071, 0.5, 0.3873 and 0.3162, of 1.9106.
    expectShares(shares({ temperature: 2 }), [0.3701, 0.2617, 0.2027, 0.1655]);
    expect(shares({ temperature: 0 })).toEqual([1, 0, 0, 0]);
  });

  test("keeps the most probable k", () => {
    expectShares(shares({ topK: 2 }), [2 / 3, 1 / 3, 0, 0]);
    expect(shares({ topK: 1 })).toEqual([1, 0, 0, 0]);
  });

  test("keeps as many as hold the probability of top-p, the one that reaches it included", () => {
    expectShares(shares({ topP: 0.8 }), [0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9, 0]);
    expectShares(shares({ topP: 0.7 }), [2 / 3, 1 / 3, 0, 0]);
    expect(shares({ topP: 0.4 })).toEqual([1, 0, 0, 0]);
    // Of what top-k leaves: 2/3 and 1/3.
    expect(shares({ topK: 2, topP: 0.6 })).toEqual([1, 0, 0, 0]);
  });

  test("keeps those with a share of the most probable one's probability", () => {
    // Their shares of it are 1, 0.5, 0.3 and 0.2.
    expectShares(shares({ minP: 0.25 }), [0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9, 0]);
    expectShares(shares({ minP: 0.4 }), [2 / 3, 1 / 3, 0, 0]);
    // By the temperature 0.5 they are 1, 0.25, 0.09 and 0.04.
    expectShares(shares({ minP: 0.1, temperature: 0.5 }), [0.8, 0.2, 0, 0]);
  });

  test("makes what was there before less probable, once however often it was there, whatever its sign", () => {
    // Logits ln 4, ln 2, 0 and -ln 2; by two: ln 2 for the first, -ln 4 for the last. 2 + 2 + 1 + 0.25 = 5.25.
    const logits = [Math.log(4), Math.log(2), 0, -Math.log(2)];
    const recent = Int32Array.of(3, 0, 0, 0);
    expectShares(shares({ repeatPenalty: 2, recent }, logits), [2 / 5.25, 2 / 5.25, 1 / 5.25, 0.25 / 5.25]);
    expectShares(shares({ repeatPenalty: 1, recent }, logits), [4 / 7.5, 2 / 7.5, 1 / 7.5, 0.5 / 7.5]);
    // Enough to make another the most probable one.
    expect(shares({ repeatPenalty: 4, recent, temperature: 0 }, logits)).toEqual([0, 1, 0, 0]);
    expect(draw(row(logits), { ...PLAIN, repeatPenalty: 4, recent: Int32Array.of(9, -1), temperature: 0 }).id).toBe(0);
  });

  test("reports the model's own probabilities, whatever was asked of the draw", () => {
    const options = { ...PLAIN, temperature: 0, repeatPenalty: 100, recent: Int32Array.of(0), alternatives: 2 };
    const logits = LOGITS.map((logit) => logit + 5);
    const { id, logprob, top } = draw(row(logits), options);
    expect(id).toBe(1);
    expect(logprob).toBeCloseTo(Math.log(0.25), 12);
    expect(top.map((token) => token.id)).toEqual([0, 1]);
    expect(top[0]!.logprob).toBeCloseTo(Math.log(0.5), 12);
  });

  test("is of the last row, and the same for the same seed and step", () => {
    const two = hostTensor("f32", [2, 4], Float64Array.from([0, 0, 0, 90, ...LOGITS]));
    const text = (seed: number): number[] =>
      Array.from({ length: 40 }, (_, step) => draw(two, { ...PLAIN, seed, step }).id);
    expect(text(1)).toEqual(text(1));
    expect(text(2)).not.toEqual(text(1));
    expect(text(1).filter((id) => id === 3).length).toBeLessThan(20);
  });
});

test("a score is the probability of each row's target, and the best of each row", () => {
  const two = hostTensor("f32", [3, 4], Float64Array.from([...LOGITS, 0, 0, 0, 1, 7, 7, 0, 0]));
  const { logprobs, best } = scoreRows(two, Int32Array.of(2, 3, -1));
  expect(logprobs[0]).toBeCloseTo(Math.log(0.15), 6);
  expect(logprobs[1]).toBeCloseTo(1 - Math.log(3 + Math.E), 6);
  expect(logprobs[2]).toBe(0);
  expect([...best]).toEqual([0, 3, 0]);
});
