/** Filters on lists and dictionaries. Each pays for what it walks over and makes. */
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { attributeOf, folded, groupValue, inOrder, pairs, withAttribute } from "./containers.ts";
import type { Filter } from "./filter.ts";
import { binaryValue } from "./operators.ts";
import { UNDEFINED, areEqual, elements, isUndefined, kindOf, listValue, namesOf, numberOf } from "./values.ts";
import { numberValue, order, textLength, textOf, textValue } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

const length: Filter = ({ value, type }, _, { budget }) => {
  if (type === "UndefinedValue") return numberValue(0, false);
  if (typeof value === "string") {
    budget.spend(value.length / 32);
    return numberValue(textLength(value), false);
  }
  if (Array.isArray(value)) return numberValue(value.length, false);
  if (value instanceof Map && type !== "NamespaceValue") return numberValue(value.size, false);
  throw templateError(`it asks for the length of ${kindOf({ type, value } as RuntimeValue)}`);
};

/** The first or the last part; of a text, a character. */
const outermost =
  (place: 0 | -1): Filter =>
  (operand, _, { budget }) => {
    const { value } = operand;
    if (typeof value !== "string") return elements(operand, budget).at(place) ?? UNDEFINED;
    const character = Array.from(place === 0 ? value.slice(0, 2) : value.slice(-2)).at(place);
    return character === undefined ? UNDEFINED : textValue(character);
  };

const reverse: Filter = (operand, _, { budget }) => {
  const { value } = operand;
  if (typeof value !== "string") return listValue([...elements(operand, budget)].reverse());
  budget.spend(value.length / 8);
  return textValue(Array.from(value).reverse().join(""));
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
      const difference = order(key, keys[best] ?? key, budget);
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
  if (typeof start?.value === "string") throw templateError("sum of texts");
  const values = withAttribute(elements(operand, budget), attribute, budget);
  return values.reduce((so, value) => binaryValue("+", so, value, budget), start ?? numberValue(0, false));
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
      const [left, right] = [folded(key[a] ?? UNDEFINED, exact), folded(key[b] ?? UNDEFINED, exact)];
      // Jinja2 compares lists of keys, and equal ones need no order there.
      const difference =
        order(left, right, budget) ?? (areEqual(left, right, budget) ? 0 : inOrder(left, right, budget));
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

/** So many lists of nearly the same length; those that are shorter are filled up where something is given for that. */
const slice: Filter = (operand, args, { budget }) => {
  const { slices, fill_with: fill } = args.matched("slices", "fill_with");
  const items = elements(operand, budget);
  const count = args.whole(slices, 0);
  if (count < 1) throw templateError("slice is given no number from 1");
  budget.items(items.length + count);
  const [each, longer] = [Math.floor(items.length / count), items.length % count];
  const rows = Array.from({ length: count }, (_, i) => {
    const start = i * each + Math.min(i, longer);
    const row = items.slice(start, start + each + (i < longer ? 1 : 0));
    return listValue(i < longer || fill === undefined || fill.type === "NullValue" ? row : [...row, fill]);
  });
  return listValue(rows);
};

/** Pairs of a value and those that have it, sorted by it. */
const groupBy: Filter = (operand, args, { budget }) => {
  const { attribute, default: otherwise, case_sensitive } = args.matched("attribute", "default", "case_sensitive");
  if (attribute === undefined) throw templateError("groupby is given no attribute");
  const items = elements(operand, budget);
  const values = withAttribute(items, attribute, budget).map((value) =>
    isUndefined(value) && otherwise !== undefined ? otherwise : value,
  );
  const exact = args.flag(case_sensitive);
  const keyed = items.map((item, i) => {
    const value = values[i] ?? UNDEFINED;
    // Sorting compares each text with some twenty others.
    if (typeof value.value === "string") budget.spend(value.value.length);
    return { item, value, key: folded(value, exact) };
  });
  const groups: { readonly key: RuntimeValue; readonly value: RuntimeValue; readonly items: RuntimeValue[] }[] = [];
  for (const { item, value, key } of keyed.toSorted((a, b) => inOrder(a.key, b.key, budget))) {
    const last = groups.at(-1);
    if (last !== undefined && areEqual(last.key, key, budget)) last.items.push(item);
    else groups.push({ key, value, items: [item] });
  }
  return listValue(groups.map((group) => groupValue(group.value, listValue(group.items))));
};

/** Any one of them; here the same on every machine and in every run. */
const random: Filter = (operand, _, { budget }) => {
  const items = elements(operand, budget);
  return items[Math.floor(items.length / 2)] ?? UNDEFINED;
};

const attribute: Filter = (operand, args) => {
  const name = args.requiredText(args.matched("name").name);
  if (isUndefined(operand)) throw templateError("it asks for an attribute of something undefined");
  return namesOf(operand)?.get(name) ?? UNDEFINED;
};

export const LIST_FILTERS: readonly (readonly [string, Filter])[] = [
  ["length", length],
  ["count", length],
  ["first", outermost(0)],
  ["last", outermost(-1)],
  ["random", random],
  ["list", (operand, _, { budget }) => listValue(elements(operand, budget))],
  ["reverse", reverse],
  ["batch", batch],
  ["slice", slice],
  ["groupby", groupBy],
  ["attr", attribute],
  ["max", extreme(1)],
  ["min", extreme(-1)],
  ["unique", unique],
  ["sum", sum],
  ["join", join],
  ["map", map],
  ["select", select(true, false)],
  ["reject", select(false, false)],
  ["selectattr", select(true, true)],
  ["rejectattr", select(false, true)],
  ["sort", sort],
  ["dictsort", dictsort],
  ["items", (operand, _, { budget }) => listValue(isUndefined(operand) ? [] : pairs(operand, budget))],
];
