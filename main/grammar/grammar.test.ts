// GBNF: what is read, what is refused and where, what a text may go on with, and what it costs.
import { describe, expect, test } from "vitest";
import { finish } from "../ir/steps.ts";
import { seededRandom } from "../testing/random.ts";
import { GrammarAutomaton } from "./automaton.ts";
import { ConstrainedTokens, TokenMasks } from "./constraint.ts";
import { parseGbnf } from "./gbnf.ts";
import { vocabularyTrie } from "./vocabularyTrie.ts";

const END = 0;
function textOver(grammar: string, words: readonly (string | readonly number[])[]): ConstrainedTokens {
  const texts = words.map((word) =>
    typeof word === "string" ? new TextEncoder().encode(word) : Uint8Array.from(word),
  );
  const bytes = (id: number): Uint8Array => texts[id] ?? new Uint8Array(0);
  const trie = finish(vocabularyTrie({ size: words.length, bytes }));
  return new ConstrainedTokens(
    new TokenMasks(new GrammarAutomaton(parseGbnf(grammar)), { trie, bytes, endings: new Set([END]) }),
  );
}
const idsOf = (mask: Uint32Array): number[] =>
  Array.from({ length: 32 * mask.length }, (_, id) => id).filter((id) => (mask[id >>> 5]! >>> (id & 31)) & 1);

/** Whether the grammar takes the whole text, a character at a time. */
function takes(grammar: string, text: string): boolean {
  const automaton = new GrammarAutomaton(parseGbnf(grammar));
  let state = automaton.start;
  for (const character of text) state = automaton.next(state, character.codePointAt(0)!);
  return automaton.mayEnd(state);
}

describe("GBNF", () => {
  test.each<readonly [string, readonly string[], readonly string[]]>([
    ['root ::= "a" | "bc"', ["a", "bc"], ["", "b", "ab", "abc"]],
    ['root ::= "ab"* # any', ["", "ab", "abab"], ["a", "aba"]],
    ["root ::= [a-c]+ [^a-c]?", ["a", "abcz", "cb日"], ["", "z", "azz"]],
    ['root ::= "x"{2,3} .{1}', ["xxy", "xxx", "xxx🙂"], ["xx", "xy", "xxxxx"]],
    ['root ::= "x"{3,}', ["xxx", "xxxxxx"], ["xx"]],
    ['root ::= pair\npair ::= "(" pair? ")"', ["()", "((()))"], ["", "(()", "())"]],
    ['root ::= ("a" |\n  "b" # in a group\n)+', ["abba"], ["abc"]],
    [
      'root ::= "\\x41\\u00e9\\U0001F642\\n\\"\\\\" [\\]^-]',
      ['Aé🙂\n"\\]', 'Aé🙂\n"\\-', 'Aé🙂\n"\\^'],
      ['Aé🙂\n"\\a'],
    ],
    ["root ::= ([a]*)* (([b]?)+ [c]?)*", ["", "aab", "bcbc"], ["ba"]],
  ])("%s", (grammar, whole, others) => {
    for (const text of whole) expect(takes(grammar, text), text).toBe(true);
    for (const text of others) expect(takes(grammar, text), text).toBe(false);
  });

  test.each([
    ['root ::= "a', "line 1, column 12: got the end, expected the end of what begins at line 1, column 10"],
    ['root ::= "a"\nb := "c"', 'line 2, column 3: got ":", expected ::= behind b'],
    ['root ::= ("a"\n  | b', "line 2, column 6: got the end, expected ) for the ( at line 1, column 10"],
    ["root ::= other", "line 1, column 10: the rule other is used, but not defined"],
    ['a ::= "b"', "no rule is called root"],
    ['root ::= root "a" | "b"', "line 1, column 1: root can begin with itself without reading a character"],
    ['root ::= "z" a\na ::= b a "x" | "y"\nb ::= "c"?', "line 1, column 14: a can begin with itself"],
    ["root ::= *", "line 1, column 10: got a repetition, expected something before it"],
    ["root ::= [z-a]", "line 1, column 11: got a range that falls"],
    ['root ::= "\\q"', "line 1, column 11: got the escape \\q"],
    ['root ::= "\\u12"', "line 1, column 11: got \\u12"],
    ['root ::= "a"{3,2}', "line 1, column 13: got {3,2}, expected counts that rise"],
    ['root ::= "a"{9999}', "line 1, column 13: expected at most 2000 repetitions"],
    ['root ::= "a"\nroot ::= "b"', "line 2, column 1: the rule root is defined twice"],
    ["root ::= <think>", "line 1, column 10: got the token <think>, expected one of the vocabulary of 0 tokens"],
    ["root ::= <a b>", "line 1, column 10: got a token without its end"],
    ["", "no rule is called root"],
    ["root ::= )", 'line 1, column 10: got ")", expected a new line behind the rule root'],
  ])("is refused with its place: %s", (grammar, message) => {
    expect(() => parseGbnf(grammar)).toThrow(message);
  });

  test("costs no more than it may", () => {
    for (const hostile of [
      `root ::= ${"(".repeat(5000)}`,
      `root ::= "${"a".repeat(300)}"{1000}`,
      `root ::= "${"a".repeat(1 << 21)}"`,
      `root ::= [${Array.from({ length: 6000 }, (_, i) => String.fromCodePoint(0x1000 + 3 * i)).join("")}]`,
    ]) {
      const start = performance.now();
      expect(() => new GrammarAutomaton(parseGbnf(hostile))).toThrow(
        expect.objectContaining({ code: "INPUT_LIMIT" }) as Error,
      );
      expect(performance.now() - start).toBeLessThan(2000);
    }
    // Rules that stand in the order in which one needs the next.
    const chain = Array.from({ length: 20_000 }, (_, i) => `r${i} ::= r${i + 1}`).join("\n");
    const start = process.cpuUsage();
    expect(takes(`root ::= r0\n${chain}\nr20000 ::= "a"?`, "a")).toBe(true);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1e6).toBeLessThan(1);
    // Each letter doubles the ways to read what is there.
    expect(() => takes('root ::= ("c" root)? ("c" root)? ("c" root)?', "c".repeat(60))).toThrow(
      expect.objectContaining({ code: "INPUT_LIMIT" }) as Error,
    );
    // A long text of a deep grammar is no trouble.
    expect(takes('root ::= "(" root ")" | "x"', `${"(".repeat(20_000)}x${")".repeat(20_000)}`)).toBe(true);
  });
});

describe("a text under a grammar", () => {
  const words = [
    "<end>",
    "a",
    "ab",
    "b",
    "é",
    [0xc3],
    [0xa9],
    [0xa9, 0x61],
    "日",
    [0xe6, 0x97],
    [0xa5],
    [0xff],
    [0xe0, 0x80],
  ];
  test("lets tokens come next that fit from beginning to end, and the end where the text may end", () => {
    const text = textOver('root ::= "a" "b"? "é"', words);
    expect(idsOf(text.allowed())).toEqual([1, 2]);
    text.read([1]);
    expect(idsOf(text.allowed())).toEqual([3, 4, 5]);
    text.read([1, 4]);
    expect(idsOf(text.allowed())).toEqual([END]);
    expect(text.isWhole).toBe(true);
    // What follows the end is no text.
    text.read([1, 4, END]);
    expect(idsOf(text.allowed())).toEqual([END]);
  });

  test("goes on within a character, only as UTF-8 does", () => {
    const text = textOver('root ::= "é" "a" | "日"', words);
    expect(idsOf(text.allowed())).toEqual([4, 5, 8, 9]);
    text.read([5]);
    expect(text.isWhole).toBe(false);
    expect(idsOf(text.allowed())).toEqual([6, 7]);
    const any = textOver("root ::= .", words);
    expect(idsOf(any.allowed())).toEqual([1, 3, 4, 5, 8, 9]);
    any.read([9]);
    expect(idsOf(any.allowed())).toEqual([6, 10]);
  });

  test("of a vocabulary of 150 000 costs milliseconds a token", () => {
    const random = seededRandom(9);
    const letters = Array.from("abcdefghijklmnopqrstuvwxyzABCDEFG 0123456789.,{}[]:\"'-é日本");
    const vocabulary = Array.from({ length: 150_000 }, () =>
      Array.from({ length: 1 + random.integer(9) }, () => random.pick(letters)).join(""),
    );
    const words = ["<end>", '{"', ...vocabulary];
    const grammar =
      'root ::= "{" pair ("," pair)* "}"\npair ::= string ":" (string | [0-9]+)\nstring ::= "\\"" [^"]* "\\""';
    const texts = Array.from({ length: 3 }, () => textOver(grammar, words));
    // Within a string nearly everything may come next: the largest walk. The first ones also compile it.
    const walks = texts.map((text) => {
      text.read([1]);
      const start = process.cpuUsage();
      const mask = text.allowed();
      const { user, system } = process.cpuUsage(start);
      return { mask, ms: (user + system) / 1e3 };
    });
    expect(Math.min(...walks.map(({ ms }) => ms))).toBeLessThan(150);
    for (const { mask } of walks) expect(idsOf(mask).length).toBeGreaterThan(100_000);
  });
});
