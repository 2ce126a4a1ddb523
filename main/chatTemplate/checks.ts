/** The tests of the language (`is`, select, selectattr), each of the value alone or against another one. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { FILTERS } from "./filters.ts";
import { recursionOf } from "./loops.ts";
import { compares, isIn } from "./operators.ts";
import { isLower, isUpper } from "./textForms.ts";
import { areEqual, isSafe, isUndefined, kindOf, numberOf, partsOf, textOf } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

const WALKED = ["ArrayValue", "TupleValue", "StringValue", "ObjectValue", "UndefinedValue"];

type SingleCheck = (value: RuntimeValue, budget: TemplateBudget) => boolean;

const remainder = (value: RuntimeValue, divisor: RuntimeValue | number): number => {
  const number = numberOf(value);
  const by = typeof divisor === "number" ? divisor : numberOf(divisor);
  if (number === undefined || by === undefined || by === 0)
    throw templateError(`it divides ${kindOf(value)} by ${typeof divisor === "number" ? divisor : kindOf(divisor)}`);
  return Math.abs(number % by);
};

const ofType =
  (...types: readonly string[]): SingleCheck =>
  ({ type }) =>
    types.includes(type);

const named =
  (names: { readonly has: (name: string) => boolean }): SingleCheck =>
  ({ value }) =>
    typeof value === "string" && names.has(value);

const SINGLE_CHECKS: ReadonlyMap<string, SingleCheck> = new Map<string, SingleCheck>([
  ["defined", (value) => !isUndefined(value)],
  ["undefined", isUndefined],
  ["none", ofType("NullValue")],
  ["boolean", ofType("BooleanValue")],
  ["true", ({ value }) => value === true],
  ["false", ({ value }) => value === false],
  ["integer", ofType("IntegerValue")],
  ["float", ofType("FloatValue")],
  ["number", ({ value }) => typeof value === "number" || typeof value === "boolean"],
  ["string", ofType("StringValue")],
  ["mapping", (value) => partsOf(value) !== undefined],
  ["iterable", ofType(...WALKED)],
  ["sequence", ofType(...WALKED)],
  ["callable", (value) => value.type === "FunctionValue" || recursionOf(value) !== undefined],
  ["escaped", isSafe],
  ["odd", (value) => remainder(value, 2) === 1],
  ["even", (value) => remainder(value, 2) === 0],
  ["lower", (value, budget) => isLower(textOf(value, budget))],
  ["upper", (value, budget) => isUpper(textOf(value, budget))],
  ["filter", named(FILTERS)],
  ["test", named({ has: (name) => SINGLE_CHECKS.has(name) || PAIR_CHECKS.has(name) })],
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
  ["divisibleby", (value, divisor) => remainder(value, divisor) === 0],
  ["sameas", (value, other) => value === other || (value.type === other.type && value.value === other.value)],
]);

export function passes(name: string, value: RuntimeValue, args: Arguments, budget: TemplateBudget): boolean {
  const single = SINGLE_CHECKS.get(name);
  if (single !== undefined) {
    args.matched();
    return single(value, budget);
  }
  const pair = PAIR_CHECKS.get(name);
  if (pair === undefined) throw templateError(`it has a test ${name.slice(0, 50)}, which is not known`);
  const [other, ...more] = [...args.positional, ...args.named.values()];
  if (other === undefined || more.length > 0) throw templateError(`${name} compares with one value`);
  return pair(value, other, budget);
}
