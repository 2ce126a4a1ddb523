/** The methods of dictionaries and lists. Those that would change one are refused, as in Jinja2's sandbox. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { pairs } from "./containers.ts";
import { NONE, areEqual, dictionary, elements, keyOf, kindOf, listValue, numberValue } from "./values.ts";
import { partsOf } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

type Method = (value: RuntimeValue, args: Arguments, budget: TemplateBudget) => RuntimeValue;

const refused: Method = (value, { name }) => {
  throw templateError(`${name} would change ${kindOf(value)}, which a template may not`);
};
const refusals = (...names: readonly string[]): [string, Method][] => names.map((name) => [name, refused]);

const OF_DICTIONARIES: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    "get",
    (value, args) => {
      const { key, default: otherwise } = args.matched("key", "default");
      if (key === undefined) throw templateError("get is given no key");
      const name = keyOf(key);
      return (name === undefined ? undefined : partsOf(value)?.get(name)) ?? otherwise ?? NONE;
    },
  ],
  ["keys", (value, args, budget) => (args.matched(), listValue(elements(value, budget)))],
  ["values", (value, args) => (args.matched(), listValue([...(partsOf(value)?.values() ?? [])]))],
  ["items", (value, args, budget) => (args.matched(), listValue(pairs(value, budget)))],
  ["copy", (value, args) => (args.matched(), dictionary(partsOf(value) ?? []))],
  ...refusals("clear", "pop", "popitem", "setdefault", "update"),
]);

const places = (value: RuntimeValue, args: Arguments, budget: TemplateBudget): readonly number[] => {
  const { item } = args.matched("item");
  if (item === undefined) throw templateError(`${args.name} is given nothing to look for`);
  return elements(value).flatMap((part, i) => (areEqual(part, item, budget) ? [i] : []));
};

const OF_LISTS: readonly [string, Method][] = [
  [
    "index",
    (value, args, budget) => {
      const [first] = places(value, args, budget);
      if (first === undefined) throw templateError("index of something that is not in the list");
      return numberValue(first, false);
    },
  ],
  ["count", (value, args, budget) => numberValue(places(value, args, budget).length, false)],
];

/** By the type of the value, then by the name. */
export const CONTAINER_METHODS: ReadonlyMap<string, ReadonlyMap<string, Method>> = new Map([
  ["ObjectValue", OF_DICTIONARIES],
  ["KeywordArgumentsValue", OF_DICTIONARIES],
  ["TupleValue", new Map(OF_LISTS)],
  [
    "ArrayValue",
    new Map([
      ...OF_LISTS,
      ["copy", (value, args) => (args.matched(), listValue(elements(value)))] as [string, Method],
      ...refusals("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"),
    ]),
  ],
]);
