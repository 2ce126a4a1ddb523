/**
 * A JSON schema as a grammar: every text of the grammar is JSON that the schema takes, with its properties in the order of the
 * schema. What a grammar cannot say is refused by its place in the schema, never left out in silence.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Element, Grammar, Range, Sequence } from "./rules.ts";
import { GRAMMAR_LIMITS, inverted, leftRecursive, RuleBuilder, tooLarge } from "./rules.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function jsonSchemaGrammar(text: string): Grammar {
  if (text.length > GRAMMAR_LIMITS.text) throw tooLarge("characters", GRAMMAR_LIMITS.text);
  let schema: Json;
  try {
    schema = JSON.parse(text) as Json;
  } catch (error) {
    throw new WorkbenchError("INPUT_ARGUMENT", `[schema] this is no JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return new SchemaWriter(schema).write();
}

/** Words that say nothing about which texts are taken. */
const REMARKS = new Set([
  ...[
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
  ],
  ...["readOnly", "writeOnly"],
]);
/** The words that each type has. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  object: ["properties", "required", "additionalProperties"],
  array: ["items", "prefixItems", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "format"],
  number: [],
  integer: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  boolean: [],
  null: [],
};
const TYPES = Object.keys(WORDS);
/** Digits of numbers that are not bounded, as a double can hold them. */
const MOST_DIGITS = 15;

const characters = (...ranges: readonly Range[]): Element => ({ kind: "characters", ranges });
const one = (character: string): Range => [character.charCodeAt(0), character.charCodeAt(0)];
const literal = (text: string): Sequence =>
  Array.from(text, (character) => {
    const point = character.codePointAt(0) ?? 0;
    return characters([point, point]);
  });
const DIGIT = characters([0x30, 0x39]);
const QUOTE = literal('"');

class SchemaWriter {
  readonly #schema: Json;
  readonly #builder = new RuleBuilder();
  /** Rules of what is referred to, and of JSON's own types. */
  readonly #known = new Map<string, Element>();
  #depth = 0;

  constructor(schema: Json) {
    this.#schema = schema;
  }

  write(): Grammar {
    const root = this.#builder.reserve();
    this.#known.set("#", { kind: "rule", rule: root });
    this.#builder.define(root, [this.#value(this.#schema, "#")]);
    const grammar = this.#builder.finish(root);
    if (leftRecursive(grammar) === undefined && !onlyItself(grammar)) return grammar;
    throw this.#wrong("#", "got a $ref that leads to itself, expected one that ends");
  }

  #value(schema: Json | undefined, at: string): Sequence {
    if (schema === true || (isObject(schema) && Object.keys(schema).every((word) => REMARKS.has(word))))
      return this.#any();
    if (!isObject(schema))
      throw this.#wrong(at, `got ${JSON.stringify(schema)}, expected a schema that takes something`);
    if (++this.#depth > GRAMMAR_LIMITS.depth) throw tooLarge("schemas within schemas", GRAMMAR_LIMITS.depth);
    const written = this.#written(schema, at);
    this.#depth--;
    return written;
  }

  #written(schema: JsonObject, at: string): Sequence {
    const { $ref, const: constant, enum: values, anyOf, oneOf, allOf, type } = schema;
    if ($ref !== undefined) {
      this.#only(schema, ["$ref"], at);
      return [this.#reference($ref, at)];
    }
    if (constant !== undefined) {
      this.#only(schema, ["const", "type"], at);
      return this.#constant(constant);
    }
    if (values !== undefined) {
      this.#only(schema, ["enum", "type"], at);
      if (!Array.isArray(values) || values.length === 0) throw this.#wrong(`${at}/enum`, "expected a list of values");
      return [this.#builder.rule((values as readonly Json[]).map((value) => this.#constant(value)))];
    }
    const choice = anyOf ?? oneOf;
    if (choice !== undefined) {
      const word = anyOf === undefined ? "oneOf" : "anyOf";
      this.#only(schema, [word], at);
      return [this.#choice(choice, `${at}/${word}`)];
    }
    if (allOf !== undefined) {
      this.#only(schema, ["allOf"], at);
      if (!Array.isArray(allOf) || allOf.length !== 1)
        throw this.#wrong(`${at}/allOf`, "expected a list of one schema");
      return this.#value((allOf as readonly Json[])[0], `${at}/allOf/0`);
    }
    if (Array.isArray(type))
      return [this.#builder.rule((type as readonly Json[]).map((each) => this.#typed(onlyOf(schema, each), each, at)))];
    return this.#typed(schema, type ?? guessedType(schema), at);
  }

  #typed(schema: JsonObject, type: Json | undefined, at: string): Sequence {
    if (typeof type !== "string" || !TYPES.includes(type))
      throw this.#wrong(`${at}/type`, `got ${JSON.stringify(type) ?? "nothing"}, expected one of ${TYPES.join(", ")}`);
    this.#only(schema, ["type", ...(WORDS[type] ?? [])], at);
    switch (type) {
      case "object":
        return this.#object(schema, at);
      case "array":
        return this.#array(schema, at);
      case "string":
        return this.#string(schema, at);
      case "integer":
        return this.#integer(schema, at);
      case "number":
        return [this.#shared("number", () => [this.#number()])];
      case "boolean":
        return [this.#builder.rule([literal("true"), literal("false")])];
      default:
        return literal("null");
    }
  }

  #object(schema: JsonObject, at: string): Sequence {
    const properties = schema["properties"] ?? {};
    const required = schema["required"] ?? [];
    const more = schema["additionalProperties"] ?? schema["properties"] === undefined;
    if (!isObject(properties)) throw this.#wrong(`${at}/properties`, "expected an object of schemas");
    if (!Array.isArray(required) || required.some((name) => typeof name !== "string"))
      throw this.#wrong(`${at}/required`, "expected a list of names");
    const names = required as readonly string[];
    const missing = names.find((name) => !(name in properties));
    if (missing !== undefined)
      throw this.#wrong(`${at}/required`, `got ${JSON.stringify(missing)}, expected a name of properties`);
    const members = Object.entries(properties).map(([name, value]) => ({
      isRequired: names.includes(name),
      text: [...literal(JSON.stringify(name)), ...literal(": "), ...this.#value(value, `${at}/properties/${name}`)],
    }));
    if (more !== false && members.length > 0)
      throw this.#wrong(
        `${at}/additionalProperties`,
        "got properties beside those that are named, expected false or nothing",
      );
    if (members.length === 0 && more === false) return literal("{}");
    if (members.length === 0) {
      const key = this.#shared("key", () => [[...QUOTE, ...this.#letters(0, Infinity), ...QUOTE]]);
      const member = [key, ...literal(": "), ...this.#value(more, `${at}/additionalProperties`)];
      return [
        this.#builder.rule([literal("{}"), [...literal("{"), ...this.#list(member, 1, Infinity), ...literal("}")]]),
      ];
    }
    // Of what may follow each member: with and without something before it.
    let [first, later]: readonly [Sequence, Sequence] = [[], []];
    for (const { text, isRequired } of members.reverse()) {
      const rest = later.length === 0 ? [] : [this.#builder.rule([later])];
      const here = [...text, ...rest];
      const behind = [...literal(", "), ...text, ...rest];
      const skipped = first;
      first = isRequired ? here : [this.#builder.rule([here, skipped])];
      later = isRequired ? behind : [this.#builder.rule([behind, rest])];
    }
    return [...literal("{"), ...first, ...literal("}")];
  }

  #array(schema: JsonObject, at: string): Sequence {
    const least = this.#count(schema, "minItems", at) ?? 0;
    const most = this.#count(schema, "maxItems", at) ?? Infinity;
    const fixed = schema["prefixItems"];
    if (most < least) throw this.#wrong(`${at}/maxItems`, `got ${most}, expected ${least} or more`);
    if (fixed !== undefined) {
      if (!Array.isArray(fixed) || (schema["items"] !== undefined && schema["items"] !== false))
        throw this.#wrong(`${at}/prefixItems`, "expected a list of schemas, and items false or nothing");
      if (least > fixed.length || most < fixed.length)
        throw this.#wrong(`${at}/prefixItems`, `expected as many as minItems and maxItems say`);
      const items = (fixed as readonly Json[]).map((item, i) => this.#value(item, `${at}/prefixItems/${i}`));
      return [
        ...literal("["),
        ...items.flatMap((item, i) => (i === 0 ? item : [...literal(", "), ...item])),
        ...literal("]"),
      ];
    }
    if (most === 0) return literal("[]");
    const item = [this.#builder.rule([this.#value(schema["items"] ?? true, `${at}/items`)])];
    const whole = [...literal("["), ...this.#list(item, Math.max(1, least), most), ...literal("]")];
    return least > 0 ? whole : [this.#builder.rule([literal("[]"), whole])];
  }

  /** With ", " between the items. */
  #list(item: Sequence, least: number, most: number): Sequence {
    return [...item, ...this.#builder.repeated([...literal(", "), ...item], least - 1, most - 1)];
  }

  #string(schema: JsonObject, at: string): Sequence {
    const format = schema["format"];
    if (format !== undefined) {
      this.#only(schema, ["type", "format"], at);
      return [...QUOTE, ...this.#format(format, at), ...QUOTE];
    }
    const least = this.#count(schema, "minLength", at) ?? 0;
    const most = this.#count(schema, "maxLength", at) ?? Infinity;
    if (most < least) throw this.#wrong(`${at}/maxLength`, `got ${most}, expected ${least} or more`);
    return [...QUOTE, ...this.#letters(least, most), ...QUOTE];
  }

  #format(format: Json, at: string): Sequence {
    const two = (first: Range, ...rest: readonly Range[]): Sequence => [characters(first), characters(...rest)];
    const digits: Range = [0x30, 0x39];
    const either = (...all: readonly Sequence[]): Element => this.#builder.rule(all);
    const date = (): Sequence => [
      ...[DIGIT, DIGIT, DIGIT, DIGIT],
      ...literal("-"),
      either(two(one("0"), [0x31, 0x39]), two(one("1"), [0x30, 0x32])),
      ...literal("-"),
      either(two(one("0"), [0x31, 0x39]), two(one("1"), digits), two(one("2"), [0x30, 0x38])),
    ];
    const hours = (): Element => either(two([0x30, 0x31], digits), two(one("2"), [0x30, 0x33]));
    const sixty = (): Sequence => two([0x30, 0x35], digits);
    const time = (): Sequence => [hours(), ...literal(":"), ...sixty(), ...literal(":"), ...sixty(), ...literal("Z")];
    const hex = characters([0x30, 0x39], [0x61, 0x66]);
    switch (format) {
      case "date":
        return date();
      case "time":
        return time();
      case "date-time":
        return [...date(), ...literal("T"), ...time()];
      case "uuid":
        return [8, 4, 4, 4, 12].flatMap((count, i) => [
          ...(i === 0 ? [] : literal("-")),
          ...Array.from({ length: count }, () => hex),
        ]);
      default:
        throw this.#wrong(`${at}/format`, `got ${JSON.stringify(format)}, expected date, time, date-time or uuid`);
    }
  }

  /** Characters of a JSON string, each as itself or as an escape. */
  #letters(least: number, most: number): Sequence {
    const letter = this.#shared("letter", () => {
      const plain = inverted([[0, 0x1f], one('"'), one("\\"), [0x7f, 0x7f], [0xd800, 0xdfff]]);
      const escapes = Array.from('"\\/bfnrt', (character) => one(character)).sort((a, b) => a[0] - b[0]);
      return [[characters(...plain)], [...literal("\\"), characters(...escapes)]];
    });
    return this.#builder.repeated([letter], least, most);
  }

  #number(): Sequence {
    const point = this.#builder.rule([[...literal("."), ...this.#builder.repeated([DIGIT], 1, MOST_DIGITS)], []]);
    const sign = this.#builder.rule([[characters(one("+"), one("-"))], []]);
    const mark = characters(one("E"), one("e"));
    const exponent = this.#builder.rule([[mark, sign, ...this.#builder.repeated([DIGIT], 1, 2)], []]);
    return [...this.#wholeNumber(), point, exponent];
  }

  #wholeNumber(): Sequence {
    const minus = this.#builder.rule([literal("-"), []]);
    const digits = this.#builder.repeated([DIGIT], 0, MOST_DIGITS - 1);
    return [minus, this.#builder.rule([literal("0"), [characters([0x31, 0x39]), ...digits]])];
  }

  #integer(schema: JsonObject, at: string): Sequence {
    const bound = (word: string): number | undefined => {
      const value = schema[word];
      if (value === undefined) return undefined;
      if (typeof value === "number" && Number.isFinite(value) && Math.abs(value) < 10 ** MOST_DIGITS) return value;
      throw this.#wrong(
        `${at}/${word}`,
        `got ${JSON.stringify(value)}, expected a number of at most ${MOST_DIGITS} digits`,
      );
    };
    const [minimum, above] = [bound("minimum"), bound("exclusiveMinimum")];
    const [maximum, below] = [bound("maximum"), bound("exclusiveMaximum")];
    if ((minimum ?? above ?? maximum ?? below) === undefined)
      return [this.#shared("integer", () => [this.#wholeNumber()])];
    const most = 10 ** MOST_DIGITS - 1;
    const low = Math.max(-most, Math.ceil(minimum ?? -most), Math.floor(above ?? -most - 1) + 1);
    const high = Math.min(most, Math.floor(maximum ?? most), Math.ceil(below ?? most + 1) - 1);
    if (high < low) throw this.#wrong(at, `got bounds without a whole number between them, expected some`);
    const alternatives: Sequence[] = [];
    if (low < 0) alternatives.push(...spans(Math.max(1, -high), -low).map((span) => [...literal("-"), ...span]));
    if (high >= 0) alternatives.push(...spans(Math.max(0, low), high));
    return [this.#builder.rule(alternatives)];
  }

  #any(): Sequence {
    return [
      this.#shared("any", () => [
        this.#object({}, "#"),
        this.#array({}, "#"),
        this.#string({}, "#"),
        [this.#shared("number", () => [this.#number()])],
        ...["true", "false", "null"].map(literal),
      ]),
    ];
  }

  #constant(value: Json): Sequence {
    return literal(JSON.stringify(value));
  }

  #choice(schemas: Json, at: string): Element {
    if (!Array.isArray(schemas) || schemas.length === 0) throw this.#wrong(at, "expected a list of schemas");
    return this.#builder.rule((schemas as readonly Json[]).map((schema, i) => this.#value(schema, `${at}/${i}`)));
  }

  #reference($ref: Json, at: string): Element {
    if (typeof $ref !== "string" || !$ref.startsWith("#"))
      throw this.#wrong(`${at}/$ref`, `got ${JSON.stringify($ref)}, expected a place in this schema: #/…`);
    let found: Json | undefined = this.#schema;
    for (const part of $ref.slice(1).split("/").slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    if (found === undefined) throw this.#wrong(`${at}/$ref`, `got ${$ref}, which is not in the schema`);
    const target = found;
    return this.#shared($ref, () => [this.#value(target, $ref)]);
  }

  /** One rule for each name; it may lead to itself. */
  #shared(name: string, alternatives: () => readonly Sequence[]): Element {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const rule = this.#builder.reserve();
    const element: Element = { kind: "rule", rule };
    this.#known.set(name, element);
    this.#builder.define(rule, alternatives());
    return element;
  }

  #count(schema: JsonObject, word: string, at: string): number | undefined {
    const value = schema[word];
    if (value === undefined) return undefined;
    const limit = GRAMMAR_LIMITS.repetitions;
    if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= limit) return value;
    throw this.#wrong(`${at}/${word}`, `got ${JSON.stringify(value)}, expected a whole number up to ${limit}`);
  }

  #only(schema: JsonObject, words: readonly string[], at: string): void {
    const other = Object.keys(schema).find((word) => !words.includes(word) && !REMARKS.has(word));
    if (other === undefined) return;
    throw this.#wrong(
      `${at}/${other}`,
      `this word is not supported here, beside ${words.filter((word) => word in schema).join(", ")}`,
    );
  }

  #wrong(at: string, what: string): WorkbenchError {
    return new WorkbenchError("INPUT_ARGUMENT", `[schema] ${at}: ${what}`);
  }
}

/** The schema for one of several types, without the words of the others. */
function onlyOf(schema: JsonObject, type: Json): JsonObject {
  const others = TYPES.filter((other) => other !== type).flatMap((other) => WORDS[other] ?? []);
  const own = typeof type === "string" ? (WORDS[type] ?? []) : [];
  return Object.fromEntries(Object.entries(schema).filter(([word]) => own.includes(word) || !others.includes(word)));
}

/** A schema without a type says it by its words. */
const guessedType = (schema: JsonObject): string | undefined =>
  TYPES.find((type) => (WORDS[type] ?? []).some((word) => word in schema));

/** Whether the root never comes to a character on any way: a reference to itself alone. */
function onlyItself({ rules, root }: Grammar): boolean {
  const ends = new Set<number>();
  for (let before = -1; before !== ends.size;) {
    before = ends.size;
    rules.forEach((alternatives, rule) => {
      if (alternatives.some((sequence) => sequence.every((e) => e.kind === "characters" || ends.has(e.rule))))
        ends.add(rule);
    });
  }
  return !ends.has(root);
}

/** The whole numbers from `low` to `high`, neither negative, as sequences of digits. */
function spans(low: number, high: number): Sequence[] {
  const result: Sequence[] = [];
  for (let from = low; from <= high;) {
    // As many last digits as may be anything: all numbers from `from` on that share its other digits.
    let free = 0;
    while (from % 10 ** (free + 1) === 0 && from > 0 && from + 10 ** (free + 1) - 1 <= high) free++;
    const step = 10 ** free;
    const digit = Math.floor(from / step) % 10;
    // Then the last of the others runs up as far as it can.
    let last = digit;
    while (last < 9 && from + (last - digit + 2) * step - 1 <= high) last++;
    const head = Math.floor(from / step / 10);
    result.push([
      ...(head === 0 ? [] : literal(String(head))),
      characters([0x30 + digit, 0x30 + last]),
      ...Array.from({ length: free }, () => DIGIT),
    ]);
    from += (last - digit + 1) * step;
  }
  return result;
}
