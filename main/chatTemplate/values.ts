/** Values of the template language, made, written out, compared and walked over as Python does it. */
import { Environment, Interpreter, parse, tokenize } from "@huggingface/jinja";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";

export type RuntimeValue = ReturnType<Interpreter["evaluate"]>;

/** The library keeps the classes of its values to itself; a value of each shows them. */
type ValueClass<T> = new (value: T) => RuntimeValue;
const classOf = <T>(value: RuntimeValue): ValueClass<T> => value.constructor as ValueClass<T>;
const sample = (value: unknown): RuntimeValue => new Environment().set("sample", value);
const StringValue = classOf<string>(sample(""));
const IntegerValue = classOf<number>(sample(0));
const FloatValue = classOf<number>(sample(0.5));
const ListValue = classOf<readonly RuntimeValue[]>(sample([]));
const TupleValue = classOf<readonly RuntimeValue[]>(
  new Interpreter(new Environment()).evaluate(parse(tokenize("{{ (1, 2) }}")).body[0], new Environment()),
);
const DictionaryValue = classOf<ReadonlyMap<DictionaryKey, RuntimeValue>>(sample({}));
const FunctionValue = classOf<FunctionBody>(sample(() => null));

type FunctionBody = (args: readonly RuntimeValue[], scope: Environment) => RuntimeValue;
/** Whole numbers and texts that look like them are different keys. */
export type DictionaryKey = string | number;

export const TRUE: RuntimeValue = sample(true);
export const FALSE: RuntimeValue = sample(false);
export const UNDEFINED: RuntimeValue = sample(undefined);
export const NONE: RuntimeValue = sample(null);
export const textValue = (text: string): RuntimeValue => new StringValue(text);
export const truthValue = (truth: boolean): RuntimeValue => (truth ? TRUE : FALSE);
export const listValue = (items: readonly RuntimeValue[]): RuntimeValue => new ListValue(items);
export const tupleValue = (items: readonly RuntimeValue[]): RuntimeValue => new TupleValue(items);
export const dictionary = (entries: Iterable<readonly [DictionaryKey, RuntimeValue]>): RuntimeValue =>
  new DictionaryValue(new Map(entries));
/** A dictionary whose parts its own functions change. */
export const changingDictionary = (parts: ReadonlyMap<DictionaryKey, RuntimeValue>): RuntimeValue =>
  new DictionaryValue(parts);
export const functionValue = (body: FunctionBody): RuntimeValue => new FunctionValue(body);
export const numberValue = (number: number, isFloat: boolean): RuntimeValue =>
  isFloat ? new FloatValue(number) : new IntegerValue(number);

export const isUndefined = ({ type }: RuntimeValue): boolean => type === "UndefinedValue";

/** The parts of a dictionary by their keys; undefined for every other value. */
export function partsOf({ type, value }: RuntimeValue): ReadonlyMap<DictionaryKey, RuntimeValue> | undefined {
  const isDictionary = type === "ObjectValue" || type === "KeywordArgumentsValue";
  return isDictionary && value instanceof Map ? value : undefined;
}

/** The names of a namespace, to be read and set; undefined for every other value. */
export const namesOf = ({ type, value }: RuntimeValue): Map<string, RuntimeValue> | undefined =>
  type === "NamespaceValue" && value instanceof Map ? value : undefined;

/** The key that a value is; undefined for one that is none here. */
export const keyOf = (value: RuntimeValue): DictionaryKey | undefined =>
  typeof value.value === "string" ? value.value : numberOf(value);

const keyValue = (key: DictionaryKey): RuntimeValue =>
  typeof key === "string" ? textValue(key) : numberValue(key, !Number.isInteger(key));

/** Texts that a template marked as safe: what is added to them is escaped. */
const safeTexts = new WeakSet<RuntimeValue>();
export const isSafe = (value: RuntimeValue): boolean => safeTexts.has(value);
export function safeValue(text: string): RuntimeValue {
  const value = textValue(text);
  safeTexts.add(value);
  return value;
}
/** A text made of another one, and marked as that one is. */
export const textLike = (original: RuntimeValue, text: string): RuntimeValue =>
  isSafe(original) ? safeValue(text) : textValue(text);

/** Numbers, and truth values as the numbers they are in Python. */
export const numberOf = ({ value }: RuntimeValue): number | undefined =>
  typeof value === "number" || typeof value === "boolean" ? Number(value) : undefined;

/** Python's str(). */
export const textOf = (value: RuntimeValue, budget: TemplateBudget): string =>
  typeof value.value === "string" ? value.value : isUndefined(value) ? "" : written(value, budget);

/** Python's repr(). Values share parts, so each is paid as often as it is written. */
export function written(value: RuntimeValue, budget: TemplateBudget): string {
  const inner: unknown = value.value;
  budget.spend(1 + (typeof inner === "string" ? inner.length / 16 : 0));
  const parts = (): string[] => elements(value).map((part) => written(part, budget));
  switch (value.type) {
    case "StringValue":
      return quoted(String(inner));
    case "IntegerValue":
    case "FloatValue":
      return numberText(value);
    case "BooleanValue":
      return inner === true ? "True" : "False";
    case "NullValue":
      return "None";
    case "UndefinedValue":
      return "Undefined";
    case "TupleValue": {
      const texts = parts();
      return texts.length === 1 ? `(${texts.join("")},)` : `(${texts.join(", ")})`;
    }
    case "ArrayValue":
      return `[${parts().join(", ")}]`;
    case "NamespaceValue":
      return `<Namespace ${dictionaryText(value, budget)}>`;
    case "ObjectValue":
    case "KeywordArgumentsValue":
      return dictionaryText(value, budget);
    default:
      throw templateError("a function is written out");
  }
}

function dictionaryText({ value }: RuntimeValue, budget: TemplateBudget): string {
  const parts: ReadonlyMap<DictionaryKey, RuntimeValue> = value instanceof Map ? value : new Map();
  const pairs = Array.from(parts, ([key, item]) => `${written(keyValue(key), budget)}: ${written(item, budget)}`);
  return `{${pairs.join(", ")}}`;
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inner = text.replace(/[\\'\p{C}\p{Z}]/gu, (character) => {
    if (character === " " || (character === "'" && quote === '"')) return character;
    return SHORT[character] ?? numericEscape(character.codePointAt(0) ?? 0);
  });
  return `${quote}${inner}${quote}`;
}
const SHORT: Readonly<Record<string, string>> = { "\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
function numericEscape(code: number): string {
  const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x1_0000 ? ["u", 4] : ["U", 8];
  return `\\${letter}${code.toString(16).padStart(digits, "0")}`;
}

export function numberText({ type, value }: RuntimeValue): string {
  const number = Number(value);
  if (type === "FloatValue") return floatText(number);
  if (!Number.isSafeInteger(number)) throw templateError("a whole number beyond 2^53");
  return String(number);
}

function floatText(number: number): string {
  if (Number.isNaN(number)) return "nan";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  const sign = number < 0 || Object.is(number, -0) ? "-" : "";
  const [digits = "", exponent = "0"] = Math.abs(number).toExponential().split("e");
  const power = Number(exponent);
  if (number !== 0 && (power < -4 || power >= 16))
    return `${sign}${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  const plain = String(Math.abs(number));
  return `${sign}${plain}${plain.includes(".") ? "" : ".0"}`;
}

/** Python's ==: by value, down into lists and dictionaries, each pair paid. */
export function areEqual(a: RuntimeValue, b: RuntimeValue, budget: TemplateBudget): boolean {
  budget.spend(1);
  const [first, second] = [numberOf(a), numberOf(b)];
  if (first !== undefined || second !== undefined) return first === second;
  const [left, right]: [unknown, unknown] = [a.value, b.value];
  if (typeof left === "string" && typeof right === "string") {
    budget.spend(Math.min(left.length, right.length) / 32);
    return left === right;
  }
  const [own, others] = [partsOf(a), partsOf(b)];
  if (own !== undefined && others !== undefined)
    return (
      own.size === others.size &&
      [...own].every(([key, item]) => {
        const other = others.get(key);
        return other !== undefined && areEqual(item, other, budget);
      })
    );
  if (a.type !== b.type) return false;
  if (Array.isArray(a.value) && Array.isArray(b.value)) {
    const items: readonly RuntimeValue[] = b.value;
    return a.value.length === items.length && a.value.every((item, i) => areEqual(item, items[i] ?? UNDEFINED, budget));
  }
  return left === right;
}

/**
 * Below zero where a comes first. Numbers with numbers, texts with texts, lists by their first
 * parts that differ; undefined for what has no order.
 */
export function order(a: RuntimeValue, b: RuntimeValue, budget: TemplateBudget): number | undefined {
  const [first, second] = [numberOf(a), numberOf(b)];
  // Not a number minus anything is not a number, and then no comparison holds.
  if (first !== undefined && second !== undefined)
    return first === second ? 0 : first < second ? -1 : first > second ? 1 : NaN;
  if (typeof a.value === "string" && typeof b.value === "string") return textOrder(a.value, b.value);
  if (!Array.isArray(a.value) || !Array.isArray(b.value) || a.type !== b.type) return undefined;
  const [left, right]: readonly (readonly RuntimeValue[])[] = [a.value, b.value];
  return listOrder(left ?? [], right ?? [], budget);
}

function listOrder(a: readonly RuntimeValue[], b: readonly RuntimeValue[], budget: TemplateBudget): number | undefined {
  const at = a.findIndex((item, i) => i >= b.length || !areEqual(item, b[i] ?? UNDEFINED, budget));
  const [left, right] = [a[at], b[at]];
  return left === undefined || right === undefined ? a.length - b.length : order(left, right, budget);
}

/** By code points, where JavaScript compares the halves of a pair. */
export function textOrder(a: string, b: string): number {
  const rank = (unit: number): number => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit);
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** What a loop sees: the parts of a list, the characters of a text, the keys of a dictionary. */
export function elements(value: RuntimeValue, budget?: TemplateBudget): readonly RuntimeValue[] {
  if (Array.isArray(value.value)) return value.value;
  if (isUndefined(value)) return [];
  if (typeof value.value === "string") {
    budget?.items(textLength(value.value));
    return Array.from(value.value, textValue);
  }
  const parts = partsOf(value);
  if (parts !== undefined) return Array.from(parts.keys(), keyValue);
  throw templateError(`${kindOf(value)} is taken for a list`);
}

/** In characters, not in halves of pairs. */
export function textLength(text: string): number {
  if (!/[\ud800-\udfff]/.test(text)) return text.length;
  let length = 0;
  for (let i = 0; i < text.length; i += (text.codePointAt(i) ?? 0) > 0xffff ? 2 : 1) length += 1;
  return length;
}

const KINDS: Readonly<Record<string, string>> = {
  StringValue: "a text",
  IntegerValue: "a whole number",
  FloatValue: "a number",
  BooleanValue: "a truth value",
  NullValue: "none",
  UndefinedValue: "something undefined",
  ArrayValue: "a list",
  TupleValue: "a tuple",
  ObjectValue: "a dictionary",
  NamespaceValue: "a namespace",
  FunctionValue: "a function",
};
/** What a value is, for messages. */
export const kindOf = ({ type }: RuntimeValue): string => KINDS[type] ?? "a value";
