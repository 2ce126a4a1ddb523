/** Lists and dictionaries as filters and methods take them: parts by their paths, keys, order. */
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { UNDEFINED, elements, isUndefined, keyOf, kindOf, order, partsOf, textOf } from "./values.ts";
import { textValue, tupleValue } from "./values.ts";
import type { DictionaryKey, RuntimeValue } from "./values.ts";

/** A pair that `groupby` made has names for its halves. */
const groupParts = new WeakMap<RuntimeValue, Readonly<Record<string, RuntimeValue>>>();
export function groupValue(grouper: RuntimeValue, list: RuntimeValue): RuntimeValue {
  const pair = tupleValue([grouper, list]);
  groupParts.set(pair, { grouper, list });
  return pair;
}
export const groupPart = (pair: RuntimeValue, name: string): RuntimeValue | undefined => groupParts.get(pair)?.[name];

/** A part by its name or place, also through several: "function.name". */
export function attributeOf(item: RuntimeValue, path: string): RuntimeValue {
  return path.split(".").reduce((value, part) => {
    if (isUndefined(value)) throw templateError(`it asks for ${part.slice(0, 50)} of something undefined`);
    const key = /^\d+$/u.test(part) ? Number(part) : part;
    const group = groupParts.get(value)?.[part];
    if (group !== undefined) return group;
    if (Array.isArray(value.value)) return typeof key === "number" ? (value.value[key] ?? UNDEFINED) : UNDEFINED;
    const parts: ReadonlyMap<DictionaryKey, RuntimeValue> | undefined =
      value.value instanceof Map ? value.value : undefined;
    return parts?.get(key) ?? UNDEFINED;
  }, item);
}

export function withAttribute(
  items: readonly RuntimeValue[],
  attribute: RuntimeValue | undefined,
  budget: TemplateBudget,
): readonly RuntimeValue[] {
  if (attribute === undefined || attribute.type === "NullValue") return items;
  const path = textOf(attribute, budget);
  budget.spend(items.length * (1 + path.length / 16));
  return items.map((item) => attributeOf(item, path));
}

export const folded = (value: RuntimeValue, exact: boolean): RuntimeValue =>
  typeof value.value === "string" && !exact ? textValue(value.value.toLowerCase()) : value;

export function inOrder(a: RuntimeValue, b: RuntimeValue, budget: TemplateBudget): number {
  const difference = order(a, b, budget);
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
