// JSON schemas: texts of the grammar are JSON that the schema takes, and what a grammar cannot say is refused by its place.
import { describe, expect, test } from "vitest";
import { seededRandom } from "../testing/random.ts";
import { GrammarAutomaton } from "./automaton.ts";
import { jsonSchemaGrammar } from "./jsonSchema.ts";

const automatonOf = (schema: unknown): GrammarAutomaton =>
  new GrammarAutomaton(jsonSchemaGrammar(JSON.stringify(schema)));
function takes(automaton: GrammarAutomaton, text: string): boolean {
  let state = automaton.start;
  for (const character of text) state = automaton.next(state, character.codePointAt(0)!);
  return automaton.mayEnd(state);
}
/** As we write JSON: a blank behind commas and colons. */
const written = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(written).join(", ")}]`
    : typeof value === "object" && value !== null
      ? `{${Object.entries(value)
          .map(([key, item]) => `${JSON.stringify(key)}: ${written(item)}`)
          .join(", ")}}`
      : JSON.stringify(value);

const PERSON = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1 },
    age: { type: "integer", minimum: 0, maximum: 120 },
    tags: { type: "array", items: { enum: ["a", "b", 3] } },
  },
  required: ["name"],
};
const TREE = {
  $ref: "#/$defs/node",
  $defs: {
    node: {
      type: "object",
      properties: { value: { type: "number" }, next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } },
      required: ["value", "next"],
    },
  },
};

test.each<readonly [unknown, readonly unknown[], readonly unknown[]]>([
  [true, [null, true, -1.5e10, 'a"\\\n', [], {}, [1, [2, { a: [] }]], { 日: { b: 1 } }], []],
  [{}, [0, [{}]], []],
  [
    PERSON,
    [{ name: "x" }, { name: "é🙂", age: 0 }, { name: "x", age: 120, tags: ["a", 3] }, { name: "x", tags: [] }],
    [
      {},
      { age: 1 },
      { name: "" },
      { name: "x", age: 121 },
      { name: "x", tags: ["c"] },
      { name: "x", other: 1 },
      { age: 1, name: "x" },
    ],
  ],
  [
    TREE,
    [
      { value: 1, next: null },
      { value: -0.5, next: { value: 2e3, next: null } },
    ],
    [{ value: 1 }, { value: 1, next: 3 }],
  ],
  [{ type: ["string", "null"], maxLength: 2 }, ["", "ab", null], ["abc", 1]],
  [{ const: { a: 1 } }, [], [{ a: 2 }]],
  [{ type: "object", additionalProperties: { type: "boolean" } }, [{}, { a: true, b: false }], [{ a: 1 }]],
  [{ type: "object", properties: { a: {}, b: {} } }, [{}, { a: 1 }, { b: 2 }, { a: 1, b: 2 }], [{ b: 2, a: 1 }]],
  [{ type: "object", properties: {}, additionalProperties: false }, [{}], [{ a: 1 }]],
  [
    { type: "array", items: { type: "integer" }, minItems: 2, maxItems: 3 },
    [
      [1, 2],
      [1, 2, -3],
    ],
    [[1], [1, 2, 3, 4], [1.5, 2]],
  ],
  [{ prefixItems: [{ type: "integer" }, { type: "string" }], minItems: 2 }, [[1, "x"]], [[1], ["x", 1]]],
  [
    { type: "string", format: "date-time" },
    ["2026-02-28T23:59:00Z"],
    ["2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "x"],
  ],
  [{ type: "string", format: "uuid" }, ["01234567-89ab-cdef-0123-456789abcdef"], ["0123"]],
  [{ oneOf: [{ type: "boolean" }, { allOf: [{ type: "null" }] }] }, [true, null], [0]],
  [{ minimum: 5 }, [5, 17], [4, -9]],
  [
    { properties: { a: { anyOf: [{ type: "null" }, { type: "boolean" }] }, b: { $ref: "#/properties/a/anyOf/1" } } },
    [{ a: null, b: true }],
    [{ b: null }],
  ],
])("%j", (schema, whole, others) => {
  const automaton = automatonOf(schema);
  for (const value of whole) expect(takes(automaton, written(value)), written(value)).toBe(true);
  for (const value of others) expect(takes(automaton, written(value)), written(value)).toBe(false);
});

test("a constant is written as JSON writes it", () => {
  expect(takes(automatonOf({ const: { a: [1, "x"] } }), '{"a":[1,"x"]}')).toBe(true);
});

test("bounds of whole numbers hold exactly", () => {
  const random = seededRandom(8);
  for (let i = 0; i < 150; i++) {
    const size = 10 ** (1 + random.integer(4));
    const [a, b] = [random.integer(2 * size) - size, random.integer(2 * size) - size];
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    const automaton = automatonOf({ type: "integer", minimum: low, maximum: high });
    for (const value of [
      low - 1,
      low,
      low + 1,
      high - 1,
      high,
      high + 1,
      0,
      ...Array.from({ length: 60 }, () => random.integer(2 * size) - size),
    ])
      expect(takes(automaton, String(value)), `${value} in ${low} to ${high}`).toBe(value >= low && value <= high);
    expect(takes(automaton, "-0") || takes(automaton, "01") || takes(automaton, "")).toBe(false);
  }
  const open = automatonOf({ type: "integer", exclusiveMinimum: 2, exclusiveMaximum: 5 });
  expect([2, 3, 4, 5].map((value) => takes(open, String(value)))).toEqual([false, true, true, false]);
});

test("bounds of fractions hold exactly", () => {
  const random = seededRandom(9);
  const draw = (): number => (random.integer(4000) - 2000) / 10 ** random.integer(4);
  for (let i = 0; i < 120; i++) {
    const [low, high] = [draw(), draw()].toSorted((a, b) => a - b);
    if (low === high) continue;
    const [isOpenLow, isOpenHigh] = [random.integer(2) === 1, random.integer(2) === 1];
    const isLowGiven = random.integer(5) > 0;
    const automaton = automatonOf({
      type: "number",
      ...(isLowGiven && { [isOpenLow ? "exclusiveMinimum" : "minimum"]: low }),
      [isOpenHigh ? "exclusiveMaximum" : "maximum"]: high,
    });
    const near = [low!, high!].flatMap((bound) => [bound, bound - 0.001, bound + 0.001, Math.trunc(bound)]);
    for (const value of [...near, 0, ...Array.from({ length: 40 }, draw)]) {
      const text = String(Number(value.toFixed(4)) + 0);
      const number = Number(text);
      const isAbove = !isLowGiven || (isOpenLow ? number > low! : number >= low!);
      const isBelow = isOpenHigh ? number < high! : number <= high!;
      for (const form of [text, text.includes(".") ? `${text}0` : `${text}.00`])
        expect(takes(automaton, form), `${form} in ${low} to ${high}`).toBe(isAbove && isBelow);
    }
    expect(takes(automaton, "01") || takes(automaton, "1.") || takes(automaton, "")).toBe(false);
  }
});

/** The engine's own expressions say what a pattern takes. */
test.each([
  "^a+b?$",
  "^(\\([0-9]{3}\\))?[0-9]{3}-[0-9]{4}$",
  "^[a-z][a-z0-9_]*$",
  "abc",
  "^ab|cd$",
  "^(ab|c)*d{2,3}$",
  "^[^a-c\\s]{1,3}$",
  "^\\w+@\\w+\\.(com|org)$",
  '^"[^"\\\\]*"$',
  "^.\\n?.$",
  "^(?:a|(?<name>b))\\d\\D$",
  "^[\\]\\-a\\u00e9]+?$",
  "^日本?.{0,2}$",
  "",
  "^$",
  "[0-9]$",
  "^\\x41[\\w-]\\S*$",
])("the pattern %s", (pattern) => {
  const automaton = automatonOf({ type: "string", pattern });
  const expression = new RegExp(pattern, "u");
  const random = seededRandom(pattern.length + 1);
  const letters = Array.from('aaabbcd0123-_@."\\ \n()]é日本zA' + pattern.replaceAll(/[\\^$()[\]{}?*+|]/gu, ""));
  const words = ["", "ab", "aab", "(123)456-7890", "456-7890", "a@b.com", '"x"', "dd", "abddd", "xabcx", "b1x", "AA-"];
  const drawn = Array.from({ length: 600 }, () =>
    Array.from({ length: random.integer(7) }, () => random.pick(letters)).join(""),
  );
  const seen = new Set<boolean>();
  for (const text of [...words, ...drawn]) {
    const expected = expression.test(text);
    seen.add(expected);
    expect(takes(automaton, JSON.stringify(text)), JSON.stringify(text)).toBe(expected);
  }
  expect(seen.has(true)).toBe(true);
});

test("every random text of a grammar is JSON", () => {
  const random = seededRandom(12);
  const letters = [...'{}[]",: 0123456789-+.eEtruefalsn\\abcnamegtvix日'];
  for (const schema of [true, PERSON, TREE]) {
    const automaton = automatonOf(schema);
    let ended = 0;
    for (let i = 0; i < 300; i++) {
      let state = automaton.start;
      let text = "";
      while (text.length < 60 && !(automaton.mayEnd(state) && random.integer(2) === 0)) {
        const next = letters.filter((letter) => automaton.next(state, letter.codePointAt(0)!) !== 0);
        if (next.length === 0) break;
        const letter = random.pick(next);
        state = automaton.next(state, letter.codePointAt(0)!);
        text += letter;
      }
      if (!automaton.mayEnd(state)) continue;
      ended++;
      expect(() => JSON.parse(text) as unknown, text).not.toThrow();
    }
    expect(ended).toBeGreaterThan(20);
  }
});

describe("refused", () => {
  test.each<readonly [unknown, string]>([
    [false, "#: got false"],
    [{ type: "strin" }, '#/type: got "strin", expected one of object'],
    [{ not: { type: "string" } }, "#/not: this word is not supported here"],
    [{ description: "either", if: {}, else: {} }, "#/if: this word is not supported here"],
    [{ properties: { a: { not: {} } } }, "#/properties/a/not: this word is not supported here"],
    [{ type: "string", pattern: "a", maxLength: 3 }, "#/maxLength: this word is not supported here, beside type"],
    [{ type: "string", pattern: "(?=a)" }, '#/pattern: got "=a)" at 3, expected characters'],
    [{ type: "string", pattern: "(a)\\1" }, '#/pattern: got "\\\\1" at 4, expected characters'],
    [{ type: "string", pattern: "a^b" }, '#/pattern: got "^b" at 2, expected characters'],
    [{ type: "string", pattern: "a{3,2}" }, "#/pattern: got the count {3,2}"],
    [{ type: "string", pattern: "\\u0001" }, "#/pattern: it asks for characters that a text here"],
    [{ type: "number", minimum: 1, exclusiveMaximum: 1 }, "#: got bounds without a number between them"],
    [{ type: "number", minimum: 1e-20 }, "#/minimum: got 1e-20, expected a number of at most 15 digits"],
    [{ properties: { a: { type: "object", patternProperties: {} } } }, "#/properties/a/patternProperties"],
    [{ properties: { a: {} }, required: ["b"] }, '#/required: got "b", expected a name of properties'],
    [{ properties: { a: {} }, additionalProperties: true }, "#/additionalProperties: got properties beside"],
    [{ $ref: "#/$defs/x" }, "#/$ref: got #/$defs/x, which is not in the schema"],
    [{ $ref: "http://a/b" }, "#/$ref: got"],
    [{ $ref: "#" }, "leads to itself"],
    [{ $ref: "#a", $defs: {} }, '#/$ref: got "#a", expected a place'],
    [{ type: ["constructor"] }, '#/type: got "constructor", expected one of'],
    [{ anyOf: [] }, "#/anyOf: expected a list of schemas"],
    [{ type: "integer", minimum: 5, maximum: 4 }, "#: got bounds without a whole number"],
    [{ type: "array", minItems: 3, maxItems: 2 }, "#/maxItems: got 2, expected 3 or more"],
    [{ enum: [] }, "#/enum: expected a list of values"],
    [{ type: "string", format: "email" }, '#/format: got "email", expected date'],
    [{ type: "string", minLength: 1e9 }, "#/minLength: got 1000000000"],
  ])("%j", (schema, message) => {
    expect(() => automatonOf(schema)).toThrow(message);
  });

  test("no JSON, and schemas that cost too much", () => {
    expect(() => jsonSchemaGrammar("{")).toThrow(/this is no JSON/);
    let deep: object = {};
    for (let i = 0; i < 1000; i++) deep = { type: "array", items: deep };
    expect(() => automatonOf(deep)).toThrow(/schemas within schemas/);
    for (const nest of [(inner: string) => `{"const": ${inner}}`, (inner: string) => `{"type": ${inner}}`])
      expect(() => jsonSchemaGrammar(nest("[".repeat(100_000) + "]".repeat(100_000)))).toThrow(/values within values/);
    const wide = Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`p${i}`, { type: "string" }]));
    expect(() => automatonOf({ properties: wide })).toThrow(expect.objectContaining({ code: "INPUT_LIMIT" }) as Error);
  });
});
