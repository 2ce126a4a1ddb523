/**
 * A JSON schema as rules: what they take is a value of the schema in some form, with its properties in the order of the
 * schema. What a grammar cannot say is refused by its place in the schema, never left out in silence.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { literal } from "./elements.ts";
import { patternRule } from "./pattern.ts";
import type { Element, RuleBuilder, Sequence } from "./rules.ts";
import { GRAMMAR_LIMITS, tooLarge } from "./rules.ts";
import { textFormat } from "./schemaFormats.ts";
import { anyNumber, BOUNDS, boundedInteger, boundedNumber, isBounded, wholeNumber } from "./schemaNumbers.ts";
import type { Json, JsonObject, ValueForm } from "./valueForm.ts";
import { isObject } from "./valueForm.ts";

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
const WORDS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ["object", ["properties", "required", "additionalProperties"]],
  ["array", ["items", "prefixItems", "minItems", "maxItems"]],
  ["string", ["minLength", "maxLength", "format", "pattern"]],
  ["number", BOUNDS],
  ["integer", BOUNDS],
  ["boolean", []],
  ["null", []],
]);
const TYPES: readonly string[] = [...WORDS.keys()];
const wordsOf = (type: unknown): readonly string[] => (typeof type === "string" ? (WORDS.get(type) ?? []) : []);

type RuleElement = Extract<Element, { readonly kind: "rule" }>;

/** A parameter of a tool. */
export interface SchemaProperty {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Json;
  /** Its place in the whole schema. */
  readonly at: string;
}

export interface SchemaForms {
  /** Whose schema it is, for messages. */
  readonly who: string;
  readonly form: ValueForm;
}

export class SchemaWriter {
  readonly #schema: Json;
  readonly #builder: RuleBuilder;
  readonly #who: string;
  readonly #form: ValueForm;
  /** Rules of what is referred to, and of JSON's own types. */
  readonly #known = new Map<string, RuleElement>();
  #depth = 0;

  constructor(schema: Json, builder: RuleBuilder, { who, form }: SchemaForms) {
    this.#schema = schema;
    this.#builder = builder;
    this.#who = who;
    this.#form = form;
  }

  /** The whole schema. */
  root(): RuleElement {
    return this.#shared("#", () => [this.#value(this.#schema, "#")]);
  }

  /** What stands at a place of the schema. */
  value({ schema, at }: Pick<SchemaProperty, "schema" | "at">): Sequence {
    return this.#value(schema, at);
  }

  /** The properties of a schema that takes an object; a schema that says nothing has none. */
  properties(): readonly SchemaProperty[] {
    const [schema, at] = this.#resolved(this.#schema, "#", 0);
    if (schema === true) return [];
    const { type = "object" } = isObject(schema) ? schema : { type: null };
    if (!isObject(schema) || type !== "object")
      throw this.#wrong(at, "got a schema of something else, expected one of an object");
    this.#only(schema, ["type", ...wordsOf("object")], at);
    return this.#properties(schema, at);
  }

  #resolved(schema: Json, at: string, depth: number): readonly [Json, string] {
    if (!isObject(schema) || depth > GRAMMAR_LIMITS.depth) return [schema, at];
    const { $ref, allOf } = schema;
    if ($ref !== undefined) {
      const [target, place] = this.#target($ref, at);
      return this.#resolved(target, place, depth + 1);
    }
    const [only, ...more] = Array.isArray(allOf) ? (allOf as readonly Json[]) : [];
    return only !== undefined && more.length === 0 ? this.#resolved(only, `${at}/allOf/0`, depth + 1) : [schema, at];
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
      return this.#constant(constant, `${at}/const`);
    }
    if (values !== undefined) {
      this.#only(schema, ["enum", "type"], at);
      if (!Array.isArray(values) || values.length === 0) throw this.#wrong(`${at}/enum`, "expected a list of values");
      return [this.#builder.rule((values as readonly Json[]).map((value) => this.#constant(value, `${at}/enum`)))];
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
    const known = type ?? guessedType(schema);
    const [word] = Object.keys(schema).filter((each) => !REMARKS.has(each));
    if (known === undefined && word !== undefined)
      throw this.#wrong(`${at}/${word}`, "this word is not supported here");
    return this.#typed(schema, known, at);
  }

  #typed(schema: JsonObject, type: Json | undefined, at: string): Sequence {
    if (typeof type !== "string" || !TYPES.includes(type))
      throw this.#wrong(`${at}/type`, `got ${JSON.stringify(type) ?? "nothing"}, expected one of ${TYPES.join(", ")}`);
    this.#only(schema, ["type", ...wordsOf(type)], at);
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
        return this.#number(schema, at);
      case "boolean":
        return [this.#builder.rule([literal(this.#form.words.true), literal(this.#form.words.false)])];
      default:
        return literal(this.#form.words.null);
    }
  }

  #object(schema: JsonObject, at: string): Sequence {
    const more = schema["additionalProperties"] ?? schema["properties"] === undefined;
    const properties = this.#properties(schema, at);
    if (more !== false && properties.length > 0)
      throw this.#wrong(
        `${at}/additionalProperties`,
        "got properties beside those that are named, expected false or nothing",
      );
    if (properties.length === 0 && more === false) return literal("{}");
    if (properties.length === 0) {
      const key = this.#shared("key", () => [this.#form.anyKey()]);
      const member = [key, ...this.#value(more, `${at}/additionalProperties`)];
      return [this.#builder.rule([literal("{}"), this.#around("{", this.#list(member, 1, Infinity), "}")])];
    }
    const members = properties.map((property) => {
      const key = this.#form.key(property.name);
      if (key === undefined) throw this.#wrong(property.at, "got a name that this form of call cannot write");
      return { isRequired: property.isRequired, text: [...key, ...this.#value(property.schema, property.at)] };
    });
    return this.#around("{", inOrder(members, this.#form.comma, this.#builder), "}");
  }

  #properties(schema: JsonObject, at: string): readonly SchemaProperty[] {
    const properties = schema["properties"] ?? {};
    const required = schema["required"] ?? [];
    if (!isObject(properties)) throw this.#wrong(`${at}/properties`, "expected an object of schemas");
    if (!Array.isArray(required) || required.some((name) => typeof name !== "string"))
      throw this.#wrong(`${at}/required`, "expected a list of names");
    const names = required as readonly string[];
    const missing = names.find((name) => !Object.hasOwn(properties, name));
    if (missing !== undefined)
      throw this.#wrong(`${at}/required`, `got ${JSON.stringify(missing)}, expected a name of properties`);
    return Object.entries(properties).map(([name, value]) => ({
      name,
      isRequired: names.includes(name),
      schema: value,
      at: `${at}/properties/${name}`,
    }));
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
      return this.#around("[", this.#joined(items), "]");
    }
    if (most === 0) return literal("[]");
    const item = [this.#builder.rule([this.#value(schema["items"] ?? true, `${at}/items`)])];
    const whole = this.#around("[", this.#list(item, Math.max(1, least), most), "]");
    return least > 0 ? whole : [this.#builder.rule([literal("[]"), whole])];
  }

  /** With a comma between the items. */
  #list(item: Sequence, least: number, most: number): Sequence {
    return [...item, ...this.#builder.repeated([...this.#form.comma, ...item], least - 1, most - 1)];
  }

  #around(open: string, inner: Sequence, close: string): Sequence {
    const { inside } = this.#form;
    return [...literal(open), ...inside, ...inner, ...inside, ...literal(close)];
  }

  #joined(parts: readonly Sequence[]): Sequence {
    return parts.flatMap((part, i) => (i === 0 ? part : [...this.#form.comma, ...part]));
  }

  #string(schema: JsonObject, at: string): Sequence {
    return [...this.#form.quote, ...this.#text(schema, at), ...this.#form.quote];
  }

  #text(schema: JsonObject, at: string): Sequence {
    const { format, pattern } = schema;
    if (format !== undefined) {
      this.#only(schema, ["type", "format"], at);
      const written = textFormat(format, this.#builder);
      if (written !== undefined) return written;
      throw this.#wrong(`${at}/format`, `got ${JSON.stringify(format)}, expected date, time, date-time or uuid`);
    }
    if (pattern !== undefined) {
      this.#only(schema, ["type", "pattern"], at);
      const where = `${at}/pattern`;
      if (typeof pattern !== "string") throw this.#wrong(where, "expected a regular expression");
      return [patternRule(pattern, this.#form.letters, this.#builder, (what) => this.#wrong(where, what))];
    }
    const least = this.#count(schema, "minLength", at) ?? 0;
    const most = this.#count(schema, "maxLength", at) ?? Infinity;
    if (most < least) throw this.#wrong(`${at}/maxLength`, `got ${most}, expected ${least} or more`);
    return this.#form.text({ least, most });
  }

  #number(schema: JsonObject, at: string): Sequence {
    return isBounded(schema)
      ? boundedNumber(schema, this.#builder, (place, what) => this.#wrong(at + place, what))
      : [this.#shared("number", () => [anyNumber(this.#builder)])];
  }

  #integer(schema: JsonObject, at: string): Sequence {
    return isBounded(schema)
      ? boundedInteger(schema, this.#builder, (place, what) => this.#wrong(at + place, what))
      : [this.#shared("integer", () => [wholeNumber(this.#builder)])];
  }

  #any(): Sequence {
    return [
      this.#shared("any", () => [
        this.#object({}, "#"),
        this.#array({}, "#"),
        this.#string({}, "#"),
        this.#number({}, "#"),
        ...Object.values(this.#form.words).map(literal),
      ]),
    ];
  }

  #constant(value: Json, at: string): Sequence {
    const { quote, known, key, words, isBare, constant } = this.#form;
    if (constant !== undefined) return constant(value);
    if (typeof value === "string") {
      const text = known(value);
      if (text === undefined) throw this.#wrong(at, "got a text that this form of call cannot write");
      return [...quote, ...text, ...quote];
    }
    if (isBare) throw this.#wrong(at, `got ${JSON.stringify(value)}, expected a text, as the type says`);
    if (value === null) return literal(words.null);
    if (typeof value === "boolean") return literal(value ? words.true : words.false);
    if (typeof value === "number") return literal(JSON.stringify(value));
    if (!isObject(value)) {
      const items = value.map((item) => this.#constant(item, at));
      return this.#around("[", this.#joined(items), "]");
    }
    const members = Object.entries(value).map(([name, item]) => {
      const written = key(name);
      if (written === undefined) throw this.#wrong(at, "got a name that this form of call cannot write");
      return [...written, ...this.#constant(item, at)];
    });
    return this.#around("{", this.#joined(members), "}");
  }

  #choice(schemas: Json, at: string): Element {
    if (!Array.isArray(schemas) || schemas.length === 0) throw this.#wrong(at, "expected a list of schemas");
    return this.#builder.rule((schemas as readonly Json[]).map((schema, i) => this.#value(schema, `${at}/${i}`)));
  }

  #reference($ref: Json, at: string): Element {
    const [target, place] = this.#target($ref, at);
    return this.#shared(place, () => [this.#value(target, place)]);
  }

  #target($ref: Json, at: string): readonly [Json, string] {
    if (typeof $ref !== "string" || !/^#(?:\/|$)/u.test($ref))
      throw this.#wrong(`${at}/$ref`, `got ${JSON.stringify($ref)}, expected a place in this schema: #/…`);
    let found: Json | undefined = this.#schema;
    for (const part of $ref.split("/").slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      found = partAt(found, name);
    }
    if (found === undefined) throw this.#wrong(`${at}/$ref`, `got ${$ref}, which is not in the schema`);
    return [found, $ref];
  }

  /** One rule for each name; it may lead to itself. */
  #shared(name: string, alternatives: () => readonly Sequence[]): RuleElement {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const rule = this.#builder.reserve();
    const element: RuleElement = { kind: "rule", rule };
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
    return new WorkbenchError("INPUT_ARGUMENT", `[${this.#who}] ${at}: ${what}`);
  }
}

/** A part of an object by its name, of a list by its place. */
function partAt(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return /^\d+$/u.test(name) ? (value as readonly Json[])[Number(name)] : undefined;
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Refuses a schema that no pass over it could go down into. */
export function checkDepth(schema: Json): void {
  if (isDeeper(schema, GRAMMAR_LIMITS.values)) throw tooLarge("values within values", GRAMMAR_LIMITS.values);
}

const isDeeper = (value: Json, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((part: Json) => isDeeper(part, levels - 1)));

/** The schema for one of several types, without the words of the others. */
function onlyOf(schema: JsonObject, type: Json): JsonObject {
  const others = TYPES.filter((other) => other !== type).flatMap(wordsOf);
  const own = wordsOf(type);
  return Object.fromEntries(Object.entries(schema).filter(([word]) => own.includes(word) || !others.includes(word)));
}

/** A schema without a type says it by its words. */
const guessedType = (schema: JsonObject): string | undefined =>
  TYPES.find((type) => wordsOf(type).some((word) => word in schema));

interface Member {
  readonly isRequired: boolean;
  readonly text: Sequence;
}

/** Members in their order, some of them left out, with something between them. */
export function inOrder(members: readonly Member[], between: Sequence, builder: RuleBuilder): Sequence {
  // Of what may follow each member: with and without something before it.
  let [first, later]: readonly [Sequence, Sequence] = [[], []];
  for (const { text, isRequired } of members.toReversed()) {
    const rest = later.length === 0 ? [] : [builder.rule([later])];
    const here = [...text, ...rest];
    const behind = [...between, ...text, ...rest];
    const skipped = first;
    first = isRequired ? here : [builder.rule([here, skipped])];
    later = isRequired ? behind : [builder.rule([behind, rest])];
  }
  return first;
}
