/** The functions that every template has: `dict`, `cycler`, `joiner`. Ranges are in sandbox.ts. */
import { templateError } from "./budget.ts";
import {
  UNDEFINED,
  changingDictionary,
  dictionary,
  elements,
  functionValue,
  keyOf,
  partsOf,
  textValue,
} from "./values.ts";
import type { DictionaryKey, RuntimeValue } from "./values.ts";

/** Those by their places, and those by their names. */
function separated(args: readonly RuntimeValue[]): {
  readonly positional: readonly RuntimeValue[];
  readonly named: ReadonlyMap<DictionaryKey, RuntimeValue>;
} {
  const last = args.at(-1);
  const hasNamed = last?.type === "KeywordArgumentsValue";
  const named = hasNamed ? partsOf(last) : undefined;
  return { positional: hasNamed ? args.slice(0, -1) : args, named: named ?? new Map() };
}

const dict = functionValue((args) => {
  const { positional, named } = separated(args);
  const [source] = positional;
  if (positional.length > 1) throw templateError("dict is given more than one value");
  const parts = source === undefined ? new Map() : (partsOf(source) ?? new Map(elements(source).map(entry)));
  return dictionary([...parts, ...named]);
});

function entry(pair: RuntimeValue): readonly [DictionaryKey, RuntimeValue] {
  const [key, value, more] = elements(pair);
  const name = key === undefined ? undefined : keyOf(key);
  if (name === undefined || value === undefined || more !== undefined)
    throw templateError("dict is given a list of something that is no pair");
  return [name, value];
}

/** Values in turn: `next()`, `current`, `reset()`. */
const cycler = functionValue((args) => {
  if (args.length === 0) throw templateError("cycler is given nothing");
  let at = 0;
  const parts = new Map<DictionaryKey, RuntimeValue>();
  const turnTo = (next: number): void => {
    at = next % args.length;
    parts.set("current", args[at] ?? UNDEFINED);
  };
  turnTo(0);
  const next = functionValue(() => {
    const value = args[at] ?? UNDEFINED;
    turnTo(at + 1);
    return value;
  });
  const reset = functionValue(() => (turnTo(0), UNDEFINED));
  parts.set("next", next).set("reset", reset);
  return changingDictionary(parts);
});

/** Nothing at first, then the text between: `joiner(", ")`. */
const joiner = functionValue((args) => {
  const { positional, named } = separated(args);
  const between = positional[0] ?? named.get("sep") ?? textValue(", ");
  let isUsed = false;
  return functionValue(() => {
    const value = isUsed ? between : textValue("");
    isUsed = true;
    return value;
  });
});

export const GLOBALS: ReadonlyMap<string, RuntimeValue> = new Map([
  ["dict", dict],
  ["cycler", cycler],
  ["joiner", joiner],
]);
