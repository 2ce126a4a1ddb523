import { describe, expect, it } from "vitest";
import { madeRecording } from "../../testing/recordings.ts";
import { compareRecordings, milliseconds, offsetBetween } from "./compare.ts";

const [seed, tokens] = [11, 12];
const first = madeRecording({ seed, tokens });

describe("two recordings", () => {
  it("that are the same differ by nothing, and nobody wins", () => {
    const { differences, sentence, first: a, second: b } = compareRecordings(first, first);
    expect(b).toBe(a);
    expect(differences.every(({ seconds, share }) => seconds === 0 && share === 0)).toBe(true);
    expect(sentence).toMatch(/^A token takes \S+ ms in both: nothing changed\.$/);
    const noise = madeRecording({ seed, tokens, slower: { add: 1.02 } });
    expect(compareRecordings(first, noise).sentence).toMatch(
      /no clear difference: the middle halves of their tokens overlap/,
    );
  });

  it("name the largest change, and what it means for the token", () => {
    const second = madeRecording({ seed, tokens, slower: { attention: 30 } });
    const { differences, sentence, first: a, second: b } = compareRecordings(first, second);
    expect(differences[0]).toMatchObject({ name: "attention", kind: "op" });
    expect(differences[0]!.share).toBeGreaterThan(20);
    expect(differences.reduce((sum, { seconds }) => sum + seconds, 0)).toBeCloseTo(b - a, 9);
    expect(sentence).toMatch(
      /^A token of the second takes \S+ ms instead of \S+ ms: \S+ ms \(\d+ %\) slower\. The largest change is attention: \+\S+ ms\.$/,
    );
    expect(compareRecordings(second, first).sentence).toMatch(/ faster\. The largest change is attention: \u2212/);
  });

  it("say which ops only one of them has, and when a token is too little to compare by", () => {
    const other = madeRecording({ seed, tokens: 2, attributed: true });
    const { differences, sentence } = compareRecordings(first, other);
    expect(differences.filter(({ first: own }) => own === null).map(({ name }) => name)).toContain("copies");
    expect(sentence).toMatch(/That says little: only 1 token of one of them count/);
    const none = { ...first, steps: { ...first.steps, decode: first.steps.decode.map(() => 0) } };
    expect(compareRecordings(none, first).sentence).toMatch(/Nothing can be compared/);
  });

  it("are laid so that a token begins at the same place", () => {
    const second = madeRecording({ seed: 12, tokens });
    for (const token of [0, 5]) {
      const offset = offsetBetween(first, second, token);
      expect(second.steps.start[token + 1]! + offset).toBeCloseTo(first.steps.start[token + 1]!, 9);
    }
    expect(offsetBetween(first, second, 99)).toBe(0);
  });
});

it("times are written in milliseconds of three digits", () => {
  expect([0.0001234, 0.01234, 1.234].map(milliseconds)).toEqual(["0.123 ms", "12.3 ms", "1234 ms"]);
});
