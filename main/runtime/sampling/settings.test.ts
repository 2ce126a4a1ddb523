// What is asked of the draws: looked up in a vocabulary, checked, and carried from token to token.
import { describe, expect, test } from "vitest";
import { finish } from "../../ir/steps.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { GREEDY, GREEDY_DRAW } from "../generate.ts";
import { draw } from "../sampleRows.ts";
import { dryPenalties } from "./dry.ts";
import { uniform } from "./random.ts";
import type { SamplingSettings } from "./settings.ts";
import { prepareSampling, startChain } from "./settings.ts";

const WORDS = ["a", "b", "ab", "\n", " the", "x:", "12"];
const source = {
  size: WORDS.length,
  endings: new Set<number>(),
  pieceBytes: (id: number) => new TextEncoder().encode(WORDS[id]),
  idOf: (text: string) => (WORDS.includes(text) ? WORDS.indexOf(text) : undefined),
  encode: (text: string) => Int32Array.from([...text], (letter) => Math.max(0, WORDS.indexOf(letter))),
};
const prepare = (settings: Partial<SamplingSettings>) => finish(prepareSampling({ ...GREEDY, ...settings }, source));

describe("settings", () => {
  test("that are off leave no step behind", () => {
    expect(prepare({ frequencyPenalty: 0, typicalP: 1, xtcProbability: 0, dryMultiplier: 0, mirostat: 0 })).toEqual(
      GREEDY,
    );
  });

  test("name tokens by id or text; biases of the same one add up", () => {
    const logitBias = [
      { token: 0, bias: 1 },
      { token: "a", bias: 2 },
      { token: " the", bias: -Infinity },
      { token: "12", bias: 3 },
    ];
    expect(prepare({ logitBias }).logitBias).toEqual([
      { id: 0, bias: 3 },
      { id: 4, bias: -Infinity },
      { id: 6, bias: 3 },
    ]);
  });

  test("ban what the file suppresses, whatever is asked for", () => {
    const suppressing = { ...source, suppressed: [3, 0] };
    const settings = { ...GREEDY, logitBias: [{ token: 0, bias: 5 }] };
    expect(finish(prepareSampling(settings, suppressing)).logitBias).toEqual([
      { id: 3, bias: -Infinity },
      { id: 0, bias: -Infinity },
    ]);
  });

  test.each<readonly [Partial<SamplingSettings>, RegExp]>([
    [{ logitBias: [{ token: "a b", bias: 1 }] }, /"a b": got a text of 3 tokens, expected the text of one token/],
    [{ logitBias: [{ token: 7, bias: 1 }] }, /token 7: the vocabulary has the ids 0 to 6/],
    [{ logitBias: [{ token: 1, bias: NaN }] }, /bias of 1: got NaN/],
    [{ mirostat: 3 }, /mirostat: got 3, expected a whole number from 0 to 2/],
    [{ topP: 1.5 }, /topP: got 1.5, expected a number from 0 to 1/],
    [{ dryBase: NaN }, /dryBase: got NaN/],
    [{ topK: 0.5 }, /topK: got 0.5, expected a whole number/],
  ])("that are wrong are refused: %j", (settings, message) => {
    expect(() => prepare(settings)).toThrow(message);
  });

  test("find where a breaker begins, and what must follow it", () => {
    const { dry } = prepare({ dryMultiplier: 1, dryBreakers: ["b", ":\n"] });
    expect([...dry!.breakers]).toEqual([
      [1, [[]]],
      [2, [[]]],
      [5, [[3]]],
    ]);
  });
});

describe("a chain", () => {
  test("gives DRY and the penalties what they look at, the prompt included", () => {
    const chain = startChain(
      prepare({ presencePenalty: 1, repeatLast: 3, dryMultiplier: 1, dryLast: 4 }),
      [5, 6, 0],
      0,
    );
    const { recent, window, dry } = chain([1, 2], 2);
    expect([[...recent], window, [...dry!.tokens]]).toEqual([[6, 0, 1, 2].slice(1), 3, [6, 0, 1, 2]]);
    // The last token is not known here yet: the device adds it.
    expect([...chain([1], 2).recent]).toEqual([0, 1]);
    expect(startChain(prepare({}), [5], 0)([1], 1)).toEqual({ ...GREEDY_DRAW, window: 0, step: 1 });
  });

  test("moves Mirostat's measure with every draw, and starts anew for the next answer", () => {
    const settings = prepare({ temperature: 1, mirostat: 2, mirostatTau: 3, mirostatEta: 0.5 });
    const chain = startChain(settings, [0], 0);
    const row = hostTensor("f32", [1, 4], Float64Array.of(2, 1, 0, 0));
    const first = chain([], 0);
    expect(first.mirostat!.state.mu).toBe(6);
    const { id } = draw(row, first);
    const weights = [2, 1, 0, 0].map(Math.exp);
    const surprise = -Math.log2(weights[id]! / weights.reduce((a, b) => a + b));
    expect(chain([id], 1).mirostat!.state.mu).toBeCloseTo(6 - 0.5 * (surprise - 3), 6);
    expect(startChain(settings, [0], 0)([], 0).mirostat!.state.mu).toBe(6);
  });
});

test("XTC spares the likeliest as often as it is asked to", () => {
  const row = hostTensor("f32", [1, 3], Float64Array.from([0.5, 0.3, 0.2], Math.log));
  const options = { ...GREEDY_DRAW, temperature: 1, seed: 4, xtc: { probability: 0.25, threshold: 0.25 } };
  const counts = [0, 0, 0];
  for (let step = 0; step < 4000; step++) counts[draw(row, { ...options, step }).id]! += 1;
  // Of a quarter the first goes: 0.75 · 0.5, and 0.75 · 0.3 + 0.25 · 0.6.
  expect(counts[0]! / 4000).toBeCloseTo(0.375, 1);
  expect(counts[1]! / 4000).toBeCloseTo(0.375, 1);
  expect(Math.abs(counts[2]! / 4000 - 0.25)).toBeLessThan(0.03);
});

test("DRY takes more for a longer repetition, and nothing behind a breaker", () => {
  const dry = { multiplier: 2, base: 3, allowedLength: 2, breakers: new Map<number, number[][]>() };
  const tokens = Int32Array.of(1, 2, 3, 9, 1, 2, 3);
  expect([...dryPenalties({ ...dry, tokens })]).toEqual([[9, 2 * 3]]);
  expect([...dryPenalties({ ...dry, tokens, breakers: new Map([[2, [[]]]]) })]).toEqual([]);
});

test("random numbers are the native engines' own: known answers of Philox", () => {
  // Counter and key 0: the words 0x6627e8d5 and 0xe169c58d come first (Random123's known answers).
  expect(uniform(0, 0)).toBe((0x6627e8d5 * 2 ** 21 + (0xe169c58d >>> 11)) / 2 ** 53);
  expect(uniform(0, 0, "xtc")).not.toBe(uniform(0, 0));
});
