/** What a template knows of the loop it is in: the `loop` of each turn. */
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { UNDEFINED, areEqual, dictionary, functionValue, numberValue, truthValue, tupleValue } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

type Again = (items: RuntimeValue) => RuntimeValue;

/** `loop` is a value with parts that can be called too: `loop(children)`. */
const recursions = new WeakMap<RuntimeValue, Again>();
export const recursionOf = (value: RuntimeValue): Again | undefined => recursions.get(value);

/** The `loop` of each turn; `depth` counts from 1, and `again` runs the loop over other items. */
export function loopValue(
  items: readonly RuntimeValue[],
  depth: number,
  again: Again,
  budget: TemplateBudget,
): (turn: number) => RuntimeValue {
  const number = (value: number): RuntimeValue => numberValue(value, false);
  let last: RuntimeValue | undefined;
  const changed = functionValue((args) => {
    const now = tupleValue(args);
    const isSame = last !== undefined && areEqual(now, last, budget);
    last = now;
    return truthValue(!isSame);
  });
  return (i) => {
    const left = items.length - i;
    const cycle = functionValue((args) => {
      if (args.length === 0) throw templateError("loop.cycle is given nothing to take turns with");
      return args[i % args.length] ?? UNDEFINED;
    });
    const loop = dictionary([
      ["index", number(i + 1)],
      ["index0", number(i)],
      ["revindex", number(left)],
      ["revindex0", number(left - 1)],
      ["first", truthValue(i === 0)],
      ["last", truthValue(left === 1)],
      ["length", number(items.length)],
      ["depth", number(depth)],
      ["depth0", number(depth - 1)],
      ["previtem", items[i - 1] ?? UNDEFINED],
      ["nextitem", items[i + 1] ?? UNDEFINED],
      ["cycle", cycle],
      ["changed", changed],
    ]);
    recursions.set(loop, again);
    return loop;
  };
}
