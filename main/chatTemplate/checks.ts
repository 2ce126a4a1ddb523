/** The tests of the language (`is`, select, selectattr) that the library lacks or does otherwise than Jinja2. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import { compares, isIn } from "./operators.ts";
import { areEqual } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

const WALKED = ["ArrayValue", "TupleValue", "StringValue", "ObjectValue", "UndefinedValue"];

/** Of the value alone. */
export const SINGLE_CHECKS: ReadonlyMap<string, (value: RuntimeValue) => boolean> = new Map([
  ["iterable", ({ type }: RuntimeValue) => WALKED.includes(type)],
  ["sequence", ({ type }: RuntimeValue) => WALKED.includes(type)],
  ["number", ({ value }: RuntimeValue) => typeof value === "number" || typeof value === "boolean"],
  ["float", ({ type }: RuntimeValue) => type === "FloatValue"],
]);

type PairCheck = (value: RuntimeValue, other: RuntimeValue, budget: TemplateBudget) => boolean;
const equal: PairCheck = (value, other, budget) => areEqual(value, other, budget);
const unequal: PairCheck = (value, other, budget) => !areEqual(value, other, budget);
const ordered =
  (operator: "<" | ">" | "<=" | ">="): PairCheck =>
  (value, other, budget) =>
    compares(operator, value, other, budget);

const PAIR_CHECKS: ReadonlyMap<string, PairCheck> = new Map<string, PairCheck>([
  ...["eq", "equalto", "=="].map((name) => [name, equal] as const),
  ...["ne", "!="].map((name) => [name, unequal] as const),
  ["in", isIn],
  ...["lt", "lessthan", "<"].map((name) => [name, ordered("<")] as const),
  ...["gt", "greaterthan", ">"].map((name) => [name, ordered(">")] as const),
  ...["le", "<="].map((name) => [name, ordered("<=")] as const),
  ...["ge", ">="].map((name) => [name, ordered(">=")] as const),
]);

/** Whether a value passes a test of two sides; undefined where there is no such test. */
export function pairCheck(name: string, value: RuntimeValue, args: Arguments, budget: TemplateBudget) {
  const check = PAIR_CHECKS.get(name);
  const { other } = check === undefined ? { other: undefined } : args.matched("other");
  return check === undefined || other === undefined ? undefined : check(value, other, budget);
}
