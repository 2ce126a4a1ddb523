/**
 * Special tokens are found as if each were looked for by itself, the longest first; and in time
 * that grows with the text.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { finish } from "../ir/steps.ts";
import { SpecialText } from "./specialText.ts";
import type { Fragment, SpecialToken } from "./specialText.ts";

/** One token after the other, over all that is left: what the search stands for. */
function oneByOne(tokens: readonly SpecialToken[], text: string, parseSpecial: boolean): readonly Fragment[] {
  const bytes = ({ text: of }: SpecialToken): number => Buffer.byteLength(of);
  let fragments: readonly Fragment[] = text === "" ? [] : [{ kind: "text", text }];
  for (const token of tokens.filter((of) => of.text !== "").toSorted((a, b) => bytes(b) - bytes(a)))
    if (parseSpecial || token.isUser)
      fragments = fragments.flatMap((fragment) => (fragment.kind === "text" ? cut(fragment.text, token) : [fragment]));
  return fragments;
}

function cut(text: string, token: SpecialToken): Fragment[] {
  const fragments: Fragment[] = [];
  let start = 0;
  for (let at = text.indexOf(token.text); at >= 0; at = text.indexOf(token.text, start)) {
    const before = text.slice(start, at);
    const left = token.stripsLeft ? before.replace(/[ \t\n\v\f\r]+$/u, "") : before;
    if (left !== "") fragments.push({ kind: "text", text: left });
    fragments.push({ kind: "token", id: token.id });
    start = at + token.text.length;
    if (token.stripsRight) while (start < text.length && /[ \t\n\v\f\r]/u.test(text[start]!)) start += 1;
  }
  if (start < text.length) fragments.push({ kind: "text", text: text.slice(start) });
  return fragments;
}

const letters = fc.string({ unit: fc.constantFrom("a", "b", "é", "👍", " ", "€"), maxLength: 6 });
const anyToken = fc.record({
  text: letters,
  isUser: fc.boolean(),
  stripsLeft: fc.boolean(),
  stripsRight: fc.boolean(),
});

it("as if each were looked for by itself", () => {
  fc.assert(
    fc.property(
      fc.array(anyToken, { maxLength: 12 }),
      fc.string({ unit: fc.constantFrom("a", "b", "é", "👍", " ", "€"), maxLength: 60 }),
      fc.boolean(),
      (made, text, parseSpecial) => {
        const tokens = made.map((token, id) => ({ ...token, id }));
        const found = finish(new SpecialText(tokens).split(text, parseSpecial));
        expect(found).toEqual(oneByOne(tokens, text, parseSpecial));
      },
    ),
    { numRuns: 5000, seed: 28 },
  );
});

const seconds = (work: () => unknown): number => {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
};

it.each<readonly [string, (i: number) => string]>([
  ["that begin with each other", (i) => "a".repeat(i + 1)],
  ["that end alike", (i) => `${i}${"a".repeat(i)}`],
  ["that are many", (i) => `a${i}b`],
])("1 000 tokens %s are looked for in 200 000 characters within a second", (_, textOf) => {
  const tokens = Array.from({ length: 1000 }, (__, id) => ({
    id,
    text: textOf(id),
    isUser: false,
    stripsLeft: false,
    stripsRight: false,
  }));
  const text = `${"a".repeat(99_999)}b`.repeat(2);
  let fragments: readonly Fragment[] = [];
  expect(seconds(() => (fragments = finish(new SpecialText(tokens).split(text, true))))).toBeLessThan(1);
  const written = fragments.map((part) => (part.kind === "text" ? part.text : tokens[part.id]!.text)).join("");
  expect(written).toBe(text);
});
