/** The filters that the library lacks or does otherwise than Jinja2. Each pays for what it walks over and makes. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { fixed } from "./format.ts";
import { jsonOf } from "./json.ts";
import { escaped } from "./operators.ts";
import { WORD_WORK, capitalized, lines, stripped } from "./textMethods.ts";
import { UNDEFINED, areEqual, elements, isSafe, isUndefined, keyOf, kindOf, listValue, numberOf } from "./values.ts";
import {
  numberValue,
  order,
  partsOf,
  safeValue,
  textLength,
  textLike,
  textOf,
  textValue,
  tupleValue,
} from "./values.ts";
import type { DictionaryKey, RuntimeValue } from "./values.ts";

/** What a filter needs of the interpreter. */
export interface FilterContext {
  readonly budget: TemplateBudget;
  /** Another filter by its name, on one value. */
  readonly apply: (filter: string, value: RuntimeValue, args: Arguments) => RuntimeValue;
  readonly passes: (test: string, value: RuntimeValue, args: Arguments) => boolean;
}

type Filter = (operand: RuntimeValue, args: Arguments, context: FilterContext) => RuntimeValue;

/** Taken as texts, whatever they are given. */
export const TEXT_FILTERS: ReadonlySet<string> = new Set([
  "trim",
  "upper",
  "lower",
  "title",
  "capitalize",
  "replace",
  "string",
  "escape",
  "e",
]);

/** A part by its name or place, also through several: "function.name". */
function attributeOf(item: RuntimeValue, path: string): RuntimeValue {
  return path.split(".").reduce((value, part) => {
    if (isUndefined(value)) throw templateError(`it asks for ${part.slice(0, 50)} of something undefined`);
    const key = /^\d+$/u.test(part) ? Number(part) : part;
    if (Array.isArray(value.value)) return typeof key === "number" ? (value.value[key] ?? UNDEFINED) : UNDEFINED;
    const parts: ReadonlyMap<DictionaryKey, RuntimeValue> | undefined =
      value.value instanceof Map ? value.value : undefined;
    return parts?.get(key) ?? UNDEFINED;
  }, item);
}

function withAttribute(
  items: readonly RuntimeValue[],
  attribute: RuntimeValue | undefined,
  budget: TemplateBudget,
): readonly RuntimeValue[] {
  if (attribute === undefined || attribute.type === "NullValue") return items;
  const path = textOf(attribute, budget);
  budget.spend(items.length * (1 + path.length / 16));
  return items.map((item) => attributeOf(item, path));
}

const folded = (value: RuntimeValue, exact: boolean): RuntimeValue =>
  typeof value.value === "string" && !exact ? textValue(value.value.toLowerCase()) : value;

const length: Filter = ({ value, type }, _, { budget }) => {
  if (typeof value === "string") {
    budget.spend(value.length / 32);
    return numberValue(textLength(value), false);
  }
  if (Array.isArray(value)) return numberValue(value.length, false);
  if (value instanceof Map && type !== "NamespaceValue") return numberValue(value.size, false);
  throw templateError(`it asks for the length of ${kindOf({ type, value } as RuntimeValue)}`);
};

const extreme =
  (sign: 1 | -1): Filter =>
  (operand, args, { budget }) => {
    const { case_sensitive, attribute } = args.matched("case_sensitive", "attribute");
    const items = elements(operand, budget);
    const exact = args.flag(case_sensitive);
    const keys = withAttribute(items, attribute, budget).map((key) => {
      if (typeof key.value === "string") budget.spend(1 + key.value.length / 16);
      return folded(key, exact);
    });
    let best = 0;
    for (const [i, key] of keys.entries()) {
      const difference = order(key, keys[best] ?? key);
      if (difference === undefined) throw templateError(`${args.name} of values that have no order`);
      if (difference * sign > 0) best = i;
    }
    return items[best] ?? UNDEFINED;
  };

const unique: Filter = (operand, args, { budget }) => {
  const { case_sensitive, attribute } = args.matched("case_sensitive", "attribute");
  const items = elements(operand, budget);
  const exact = args.flag(case_sensitive);
  const seen = new Set<unknown>();
  const keys = withAttribute(items, attribute, budget);
  return listValue(
    items.filter((_, i) => {
      const key = folded(keys[i] ?? UNDEFINED, exact);
      if (typeof key.value === "object" && key.value !== null) throw templateError(`unique of ${kindOf(key)}`);
      if (typeof key.value === "string") budget.spend(1 + key.value.length / 16);
      const known: unknown = numberOf(key) ?? key.value;
      return !seen.has(known) && seen.add(known) !== undefined;
    }),
  );
};

const sum: Filter = (operand, args, { budget }) => {
  const { attribute, start } = args.matched("attribute", "start");
  const values = [start ?? numberValue(0, false), ...withAttribute(elements(operand, budget), attribute, budget)];
  const total = values.reduce((so, value) => {
    const number = numberOf(value);
    if (number === undefined) throw templateError(`sum of ${kindOf(value)}`);
    return so + number;
  }, 0);
  return numberValue(
    total,
    values.some(({ type }) => type === "FloatValue"),
  );
};

const round: Filter = (operand, args) => {
  const { precision, method } = args.matched("precision", "method");
  const decimals = args.whole(precision, 0);
  const how = args.text(method) ?? "common";
  const number = numberOf(operand);
  if (number === undefined || !Number.isFinite(number)) throw templateError(`it rounds ${kindOf(operand)}`);
  if (decimals < 0 || decimals > 20 || !["common", "ceil", "floor"].includes(how))
    throw templateError("round with these arguments is not supported");
  if (how === "common") {
    if (operand.type !== "FloatValue") return numberValue(number, false);
    return numberValue(Math.abs(number) >= 1e21 ? number : Number(fixed(number, decimals)), true);
  }
  const scale = 10 ** decimals;
  return numberValue((how === "ceil" ? Math.ceil(number * scale) : Math.floor(number * scale)) / scale, true);
};

const escape: Filter = (operand, _, { budget }) => {
  const text = textOf(operand, budget);
  return safeValue(isSafe(operand) ? text : escaped(text, budget));
};

const join: Filter = (operand, args, { budget }) => {
  const { d, attribute } = args.matched("d", "attribute");
  const between = d === undefined ? "" : textOf(d, budget);
  const parts = withAttribute(elements(operand, budget), attribute, budget).map((part) => textOf(part, budget));
  budget.text(parts.reduce((all, part) => all + part.length + between.length, 0));
  return textValue(parts.join(between));
};

/** What `map` and `select` walk over: nothing where the value is false, as Jinja2 has it. */
const walked = (operand: RuntimeValue, budget: TemplateBudget): readonly RuntimeValue[] =>
  operand.__bool__().value ? elements(operand, budget) : [];

const map: Filter = (operand, args, { budget, apply }) => {
  const items = walked(operand, budget);
  if (args.named.has("attribute")) {
    const { attribute, default: otherwise } = args.matched("attribute", "default");
    const values = withAttribute(items, attribute, budget);
    return listValue(values.map((value) => (isUndefined(value) ? (otherwise ?? value) : value)));
  }
  const [name] = args.positional;
  const filter = args.requiredText(name);
  const rest = args.after(1, filter);
  return listValue(items.map((item) => apply(filter, item, rest)));
};

const select =
  (keeps: boolean, byAttribute: boolean): Filter =>
  (operand, args, { budget, passes }) => {
    const path = byAttribute ? args.requiredText(args.positional[0]) : "";
    const skipped = byAttribute ? 1 : 0;
    const test = args.text(args.positional[skipped]);
    const rest = args.after(skipped + 1, test ?? "");
    const kept = walked(operand, budget).filter((item) => {
      budget.spend(2 + path.length / 16);
      const value = byAttribute ? attributeOf(item, path) : item;
      return (test === undefined ? value.__bool__().value : passes(test, value, rest)) === keeps;
    });
    return listValue(kept);
  };

const sort: Filter = (operand, args, { budget }) => {
  const { reverse, case_sensitive, attribute } = args.matched("reverse", "case_sensitive", "attribute");
  const items = elements(operand, budget);
  const paths =
    attribute === undefined || attribute.type === "NullValue"
      ? []
      : textOf(attribute, budget).split(",").map(textValue);
  const exact = args.flag(case_sensitive);
  const keys = paths.length === 0 ? [items] : paths.map((path) => withAttribute(items, path, budget));
  const places = items.map((_, i) => i);
  const sign = args.flag(reverse) ? -1 : 1;
  places.sort((a, b) => {
    for (const key of keys) {
      const difference = inOrder(folded(key[a] ?? UNDEFINED, exact), folded(key[b] ?? UNDEFINED, exact), budget);
      if (difference !== 0) return sign * difference;
    }
    return 0;
  });
  return listValue(places.map((place) => items[place] ?? UNDEFINED));
};

const dictsort: Filter = (operand, args, { budget }) => {
  const { case_sensitive, by, reverse } = args.matched("case_sensitive", "by", "reverse");
  const part = ["key", "value"].indexOf(args.text(by) ?? "key");
  if (part < 0) throw templateError("dictsort is by key or by value");
  const exact = args.flag(case_sensitive);
  const sign = args.flag(reverse) ? -1 : 1;
  const keyed = pairs(operand, budget).map((pair) => ({ pair, key: folded(elements(pair)[part] ?? UNDEFINED, exact) }));
  return listValue(keyed.toSorted((a, b) => sign * inOrder(a.key, b.key, budget)).map(({ pair }) => pair));
};

function inOrder(a: RuntimeValue, b: RuntimeValue, budget: TemplateBudget): number {
  const difference = order(a, b) ?? (areEqual(a, b, budget) ? 0 : undefined);
  if (difference === undefined) throw templateError(`it sorts ${kindOf(a)} and ${kindOf(b)}, which have no order`);
  return difference;
}

/** The keys of a dictionary with their values. */
export function pairs(operand: RuntimeValue, budget: TemplateBudget): readonly RuntimeValue[] {
  const parts = partsOf(operand);
  if (parts === undefined) throw templateError(`it takes the items of ${kindOf(operand)}`);
  budget.items(parts.size);
  return elements(operand).map((key) => tupleValue([key, parts.get(keyOf(key) ?? "") ?? UNDEFINED]));
}

const indent: Filter = (operand, args, { budget }) => {
  const { width, first, blank } = args.matched("width", "first", "blank");
  const text = args.requiredText(operand);
  budget.spend(text.length / 8);
  const columns = typeof width?.value === "string" ? 0 : Math.max(0, args.whole(width, 4));
  budget.text(columns);
  const step = typeof width?.value === "string" ? width.value : " ".repeat(columns);
  const parts = lines(`${text}\n`, false);
  budget.spend(parts.length);
  budget.text(text.length + parts.length * (step.length + 1));
  const indented = parts.map((line, i) => {
    const isIndented = i === 0 ? args.flag(first) : args.flag(blank) || line !== "";
    return isIndented ? step + line : line;
  });
  return textLike(operand, indented.join("\n"));
};

/** A text that is a number becomes one; what is none becomes the default. */
const number =
  (isFloat: boolean): Filter =>
  (operand, args, { budget }) => {
    const { default: otherwise } = args.matched("default");
    const { value } = operand;
    if (isUndefined(operand)) throw templateError("it makes a number of something undefined");
    if (typeof value === "string") budget.spend(value.length / 16);
    // Each character can be taken in one way only: with two, a long text that is no number would
    // take its square in steps.
    const parsed =
      typeof value === "string" && /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/iu.test(value)
        ? Number(value)
        : numberOf(operand);
    if (parsed === undefined) return otherwise ?? numberValue(0, isFloat);
    return numberValue(isFloat ? parsed : Math.trunc(parsed) + 0, isFloat);
  };

/** Lists of so many in a row; the last is filled up where something is given for that. */
const batch: Filter = (operand, args, { budget }) => {
  const { linecount, fill_with: fill } = args.matched("linecount", "fill_with");
  const items = elements(operand, budget);
  const count = args.whole(linecount, 0);
  if (count < 1) throw templateError("batch is given no number from 1");
  budget.items(items.length + count);
  const rows: RuntimeValue[] = [];
  for (let at = 0; at < items.length; at += count) {
    const row = items.slice(at, at + count);
    const missing = fill === undefined || fill.type === "NullValue" ? 0 : count - row.length;
    rows.push(listValue(missing === 0 ? row : [...row, ...Array.from({ length: missing }, () => fill ?? UNDEFINED)]));
  }
  return listValue(rows);
};

export const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["length", length],
  ["count", length],
  ["first", (operand, _, { budget }) => elements(operand, budget)[0] ?? UNDEFINED],
  ["last", (operand, _, { budget }) => elements(operand, budget).at(-1) ?? UNDEFINED],
  ["list", (operand, _, { budget }) => listValue(elements(operand, budget))],
  [
    "reverse",
    (operand, _, { budget }) => {
      const items = [...elements(operand, budget)].reverse();
      return typeof operand.value === "string"
        ? textValue(items.map((part) => textOf(part, budget)).join(""))
        : listValue(items);
    },
  ],
  ["d", (operand, args, { apply }) => apply("default", operand, args)],
  ["batch", batch],
  [
    "wordcount",
    (operand, _, { budget }) => {
      const text = textOf(operand, budget);
      budget.spend(text.length / WORD_WORK);
      return numberValue(text.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0, false);
    },
  ],
  ["max", extreme(1)],
  ["min", extreme(-1)],
  ["unique", unique],
  ["sum", sum],
  ["round", round],
  ["join", join],
  ["map", map],
  ["select", select(true, false)],
  ["reject", select(false, false)],
  ["selectattr", select(true, true)],
  ["rejectattr", select(false, true)],
  ["int", number(false)],
  ["float", number(true)],
  ["escape", escape],
  ["e", escape],
  ["safe", (operand, _, { budget }) => safeValue(textOf(operand, budget))],
  ["string", (operand, _, { budget }) => textLike(operand, textOf(operand, budget))],
  ["indent", indent],
  ["sort", sort],
  ["dictsort", dictsort],
  ["items", (operand, _, { budget }) => listValue(isUndefined(operand) ? [] : pairs(operand, budget))],
  ["tojson", (operand, args, { budget }) => textValue(jsonOf(operand, args, budget))],
  [
    "trim",
    (operand, args, { budget }) => {
      const text = textOf(operand, budget);
      const characters = args.text(args.matched("chars").chars);
      budget.spend(text.length / 8 + (characters?.length ?? 0) / 4);
      return textLike(operand, stripped(text, characters, "both"));
    },
  ],
  ["upper", (operand, _, { budget }) => textLike(operand, textOf(operand, budget).toUpperCase())],
  ["lower", (operand, _, { budget }) => textLike(operand, textOf(operand, budget).toLowerCase())],
  ["capitalize", (operand, _, { budget }) => textLike(operand, capitalized(textOf(operand, budget)))],
  [
    "title",
    (operand, _, { budget }) => {
      const text = textOf(operand, budget);
      budget.spend(text.length / WORD_WORK);
      return textLike(
        operand,
        text
          .split(/([-\s({[<]+)/u)
          .map(capitalized)
          .join(""),
      );
    },
  ],
]);
