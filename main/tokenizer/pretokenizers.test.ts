/** Words are cut in time that grows with the text, and the quick patterns cut as the plain ones that they stand for. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { finish } from "../ir/steps.ts";
import { wordEnds } from "./cutting.ts";
import type { Pattern } from "./cutting.ts";
import { PRE_TOKENIZER_NAMES, preTokenizer } from "./pretokenizers.ts";

const kinds = [...new Map(PRE_TOKENIZER_NAMES.map((name) => [preTokenizer(name).patterns, name])).values()];

const seconds = (work: () => unknown): number => {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
};

const PIECES = [" ", "\n", "\t", "1", "a", "A", "!", "'", "é", "²", "漢", " \n", "1,", "aA", "'s", "€", "\u0301", "Aé"];

describe.each(kinds)("%s", (name) => {
  it("cuts 50 000 characters of one kind within a second, whatever follows", () => {
    const { patterns } = preTokenizer(name);
    for (const piece of PIECES)
      for (const end of ["", "x"]) {
        const text = piece.repeat(50_000 / piece.length) + end;
        const said = `${JSON.stringify(piece)} and ${JSON.stringify(end)}`;
        expect(
          seconds(() => finish(wordEnds(text, patterns))),
          said,
        ).toBeLessThan(1);
      }
  });
});

/** The patterns as the models have them: quadratic in the length of a run. */
const plain = (source: string): Pattern => ({ regex: new RegExp(source, "g"), over: "plain" });
const PLAIN: readonly (readonly [name: string, place: number, pattern: Pattern])[] = [
  ["deepseek-llm", 3, plain("[\\t-\\r ]+$")],
  ["superbpe", 1, plain("(?=([0-9]{3})+(?![0-9]))")],
];

it.each(PLAIN)("%s cuts as with the plain pattern", (name, place, pattern) => {
  const { patterns } = preTokenizer(name);
  const plainly = patterns.with(place, pattern);
  const units = fc.constantFrom(" ", "\n", "\t", "1", "2", "²", "a", "!", "é", "👍", "\u00a0");
  fc.assert(
    fc.property(fc.string({ unit: units, maxLength: 40 }), (text) => {
      expect(finish(wordEnds(text, patterns))).toEqual(finish(wordEnds(text, plainly)));
    }),
    { numRuns: 5000, seed: 28 },
  );
});
