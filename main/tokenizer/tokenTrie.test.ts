/**
 * A walk tells the tokens that a search through all of them tells, and costs no more than the
 * longest of them.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { Metadata } from "../formats/gguf/metadata.ts";
import { stringsEntry } from "../formats/gguf/encode.ts";
import type { StringTable } from "../formats/gguf/values.ts";
import { TokenTrie } from "./tokenTrie.ts";

const tableOf = (texts: readonly string[]): StringTable =>
  new Metadata("trie", [stringsEntry("texts", texts)]).strings("texts");
const encoder = new TextEncoder();

it("tells the tokens at a place, shortest first, the last one of equals", () => {
  const texts = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength: 5 }), { maxLength: 20 });
  const anyText = fc.string({ unit: fc.constantFrom("a", "b", "é"), maxLength: 8 });
  fc.assert(
    fc.property(texts, anyText, (tokens, text) => {
      const bytes = encoder.encode(text);
      const found: [number, number][] = [];
      const depth = new TokenTrie(tableOf(tokens), (id) => id !== 3).walk(bytes, 0, bytes.length, (id, end) =>
        found.push([id, end]),
      );
      const taken = tokens.map((token, id) => ({ token, id })).filter(({ token, id }) => token !== "" && id !== 3);
      const expected = [...new Map(taken.map(({ token, id }) => [token, id]))]
        .filter(([token]) => text.startsWith(token))
        .map(([token, id]): [number, number] => [id, encoder.encode(token).length])
        .toSorted(([, a], [, b]) => a - b);
      expect(found).toEqual(expected);
      const common = taken.map(({ token }) => commonBytes(encoder.encode(token), bytes));
      expect(depth).toBe(Math.max(0, ...common));
    }),
    { numRuns: 2000, seed: 29 },
  );
});

function commonBytes(a: Uint8Array, b: Uint8Array): number {
  let length = 0;
  while (length < Math.min(a.length, b.length) && a[length] === b[length]) length += 1;
  return length;
}

it("puts 8 000 tokens of 1 000 equal bytes and a number in order within a second", () => {
  const table = tableOf(Array.from({ length: 8_000 }, (_, i) => `${"a".repeat(1000)}${i}`));
  const start = process.cpuUsage();
  const trie = new TokenTrie(table, () => true);
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1e6).toBeLessThan(1);
  const bytes = encoder.encode(`${"a".repeat(1000)}12`);
  const found: number[] = [];
  trie.walk(bytes, 0, bytes.length, (id) => found.push(id));
  expect(found).toEqual([1, 12]);
});
