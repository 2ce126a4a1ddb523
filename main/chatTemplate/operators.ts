/** The operators that the library lacks or does otherwise than Python: equality, order, texts, remainders. */
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { formatPercent } from "./format.ts";
import { areEqual, elements, isSafe, isUndefined, keyOf, kindOf, listValue, numberOf, numberValue } from "./values.ts";
import { order, partsOf, safeValue, textLike, textOf, textValue, truthValue, tupleValue } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

/** Of every operator but `and` and `or`, which need not look at both sides. */
export function binaryValue(
  operator: unknown,
  left: RuntimeValue,
  right: RuntimeValue,
  budget: TemplateBudget,
): RuntimeValue {
  switch (operator) {
    case "==":
      return truthValue(areEqual(left, right, budget));
    case "!=":
      return truthValue(!areEqual(left, right, budget));
    case "in":
      return truthValue(isIn(left, right, budget));
    case "not in":
      return truthValue(!isIn(left, right, budget));
    case "<":
    case ">":
    case "<=":
    case ">=":
      return truthValue(compares(operator, left, right, budget));
    case "~":
      return joined(textOf(left, budget), textOf(right, budget), budget);
    case "+":
      return sum(left, right, budget);
    case "*":
      return repeated(right, left, budget) ?? repeated(left, right, budget) ?? arithmetic(operator, left, right);
    case "%":
      if (typeof left.value !== "string") return arithmetic(operator, left, right);
      if (isSafe(left)) throw templateError("a text marked as safe is filled with %, which is not supported");
      return textValue(formatPercent(left.value, right, budget));
    case "-":
    case "/":
    case "//":
    case "**":
      return arithmetic(operator, left, right);
    default:
      throw templateError("it has an operator that is not known");
  }
}

type Arithmetic = "+" | "-" | "*" | "/" | "//" | "%" | "**";

/** Numbers, and truth values as numbers. */
function arithmetic(operator: Arithmetic, left: RuntimeValue, right: RuntimeValue): RuntimeValue {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a === undefined || b === undefined)
    throw templateError(`it computes ${kindOf(left)} ${operator} ${kindOf(right)}`);
  if (b === 0 && ["/", "//", "%"].includes(operator)) throw templateError("it divides by zero");
  const isFloat = left.type === "FloatValue" || right.type === "FloatValue";
  switch (operator) {
    case "+":
      return numberValue(a + b, isFloat);
    case "-":
      return numberValue(a - b, isFloat);
    case "*":
      return numberValue(a * b, isFloat);
    case "/":
      return numberValue(a / b, true);
    case "//":
      return numberValue(Math.floor(a / b), isFloat);
    case "%":
      return numberValue(remainder(a, b), isFloat);
    case "**": {
      const power = a ** b;
      if (!Number.isFinite(power)) throw templateError("a power that is no finite number");
      return numberValue(power, isFloat || b < 0);
    }
  }
}

/** With the sign of the divisor, as Python's. */
function remainder(a: number, b: number): number {
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "'": "&#39;",
  '"': "&#34;",
};
/** For HTML. */
export function escaped(text: string, budget: TemplateBudget): string {
  budget.spend(text.length / 4);
  return text.replace(/[&<>'"]/gu, (character) => ENTITIES[character] ?? character);
}

function joined(left: string, right: string, budget: TemplateBudget): RuntimeValue {
  budget.text(left.length + right.length);
  return textValue(left + right);
}

function sum(left: RuntimeValue, right: RuntimeValue, budget: TemplateBudget): RuntimeValue {
  if (typeof left.value === "string" && typeof right.value === "string") {
    if (!isSafe(left) && !isSafe(right)) return joined(left.value, right.value, budget);
    const text = [left, right]
      .map((side) => (isSafe(side) ? side.value : escaped(String(side.value), budget)))
      .join("");
    budget.text(text.length);
    return safeValue(text);
  }
  if (Array.isArray(left.value) && left.type === right.type) {
    const items = [...elements(left), ...elements(right)];
    budget.items(items.length);
    return left.type === "TupleValue" ? tupleValue(items) : listValue(items);
  }
  return arithmetic("+", left, right);
}

function repeated(what: RuntimeValue, times: RuntimeValue, budget: TemplateBudget): RuntimeValue | undefined {
  const isList = Array.isArray(what.value);
  if ((typeof what.value !== "string" && !isList) || !["IntegerValue", "BooleanValue"].includes(times.type))
    return undefined;
  const count = Math.max(0, numberOf(times) ?? 0);
  if (typeof what.value === "string") {
    budget.text(what.value.length * count);
    return textLike(what, what.value === "" ? "" : what.value.repeat(count));
  }
  const items = elements(what);
  budget.items(items.length * count);
  const all = items.length === 0 ? [] : Array.from({ length: count }, () => items).flat();
  return what.type === "TupleValue" ? tupleValue(all) : listValue(all);
}

export function isIn(left: RuntimeValue, right: RuntimeValue, budget: TemplateBudget): boolean {
  if (typeof right.value === "string") {
    if (typeof left.value !== "string") throw templateError(`it looks for ${kindOf(left)} in a text`);
    budget.search(right.value, left.value);
    return right.value.includes(left.value);
  }
  if (isUndefined(right)) return false;
  const parts = partsOf(right);
  if (parts !== undefined) {
    const key = keyOf(left);
    return key !== undefined && parts.has(key);
  }
  return elements(right).some((item) => areEqual(item, left, budget));
}

export function compares(
  operator: "<" | ">" | "<=" | ">=",
  left: RuntimeValue,
  right: RuntimeValue,
  budget: TemplateBudget,
): boolean {
  if (typeof left.value === "string") budget.spend(left.value.length / 32);
  const difference = order(left, right, budget);
  if (difference === undefined) throw templateError(`it asks whether ${kindOf(left)} ${operator} ${kindOf(right)}`);
  switch (operator) {
    case "<":
      return difference < 0;
    case ">":
      return difference > 0;
    case "<=":
      return difference <= 0;
    case ">=":
      return difference >= 0;
  }
}
