// Texts without marks, tried with every text of a few letters: what is taken is what holds no mark and keeps to the bounds.
import { expect, test } from "vitest";
import { GrammarAutomaton } from "./automaton.ts";
import { characters, literal, one } from "./elements.ts";
import { RuleBuilder } from "./rules.ts";
import { textWithout } from "./textWithout.ts";

const LETTERS = ["a", "b", "<", "n"];

function* texts(most: number): Generator<string> {
  yield "";
  if (most === 0) return;
  for (const text of texts(most - 1)) for (const letter of LETTERS) if (text.length === most - 1) yield text + letter;
  if (most > 1) for (const text of texts(most - 1)) if (text !== "") yield text;
}

interface Case {
  readonly marks: readonly string[];
  readonly least?: number;
  readonly most?: number;
  readonly inner?: string;
}
const CASES: readonly Case[] = [
  { marks: ["ab<"] },
  { marks: ["ab<", "ba"] },
  { marks: ["aab", "abab", "bb"] },
  { marks: ["<<", "a<b"], inner: "n" },
  { marks: ["ab<"], most: 3 },
  { marks: ["ab<", "<a"], least: 2, most: 4 },
  { marks: ["ab<"], least: 2 },
  { marks: ["ab<"], least: 1, most: 4, inner: "n" },
  { marks: [], least: 1, most: 2, inner: "n" },
];

test.each(CASES)("%j", ({ marks, least = 0, most = Infinity, inner }) => {
  const builder = new RuleBuilder();
  const root = builder.reserve();
  const letters = {
    plain: LETTERS.map(one).sort((a, b) => a[0] - b[0]),
    escapes: [],
    ...(inner !== undefined && { inner }),
  };
  builder.define(root, [textWithout(marks, letters, { least, most }, builder)]);
  const automaton = new GrammarAutomaton(builder.finish(root));
  // Of counted characters also no beginning of two characters of a mark.
  const refused = least === 0 && most === Infinity ? marks : marks.map((mark) => mark.slice(0, 2));
  let [taken, count] = [0, 0];
  for (const text of new Set(texts(6))) {
    let state = automaton.start;
    for (const letter of text) state = automaton.next(state, letter.charCodeAt(0));
    const isEdged = inner !== undefined && (text.startsWith(inner) || text.endsWith(inner));
    const fits =
      text.length >= least && text.length <= most && !isEdged && !refused.some((mark) => text.includes(mark));
    expect(automaton.mayEnd(state), JSON.stringify(text)).toBe(fits);
    count += 1;
    if (fits) taken += 1;
  }
  expect(count).toBe(5461);
  expect(taken).toBeGreaterThan(2);
});

test("an escape is a character of its own, and begins no mark", () => {
  const builder = new RuleBuilder();
  const root = builder.reserve();
  const letters = { plain: [one("a"), one("b")], escapes: [literal("\\a")] };
  builder.define(root, [[...textWithout(["ab"], letters, { least: 1, most: 2 }, builder), characters(one("!"))]]);
  const automaton = new GrammarAutomaton(builder.finish(root));
  const takes = (text: string): boolean => {
    let state = automaton.start;
    for (const letter of text) state = automaton.next(state, letter.charCodeAt(0));
    return automaton.mayEnd(state);
  };
  expect(["a!", "ba!", "\\ab!", "\\a\\a!", "b\\a!"].map(takes)).toEqual([true, true, true, true, true]);
  expect(["!", "ab!", "aaa!", "\\a\\a\\a!", "\\b!"].map(takes)).toEqual([false, false, false, false, false]);
});
