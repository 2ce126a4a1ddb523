/** What every filter is: a value, its arguments, and what it needs of the interpreter. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import type { RuntimeValue } from "./values.ts";

/** What a filter needs of the interpreter. */
export interface FilterContext {
  readonly budget: TemplateBudget;
  /** Another filter by its name, on one value. */
  readonly apply: (filter: string, value: RuntimeValue, args: Arguments) => RuntimeValue;
  readonly passes: (test: string, value: RuntimeValue, args: Arguments) => boolean;
}

export type Filter = (operand: RuntimeValue, args: Arguments, context: FilterContext) => RuntimeValue;
