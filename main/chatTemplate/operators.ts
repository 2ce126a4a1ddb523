/** The operators that the library lacks or does otherwise than Python: equality, order, texts, remainders. */
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { formatPercent } from "./format.ts";
import { areEqual, elements, isUndefined, kindOf, listValue, numberOf, numberValue, order } from "./values.ts";
import { textOf, textValue, truthValue } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

/** Undefined for what is left to the library. */
export function binaryValue(
  operator: unknown,
  left: RuntimeValue,
  right: RuntimeValue,
  budget: TemplateBudget,
): RuntimeValue | undefined {
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
      return typeof left.value === "number" ? repeated(right, left, budget) : repeated(left, right, budget);
    case "%":
      return typeof left.value === "string"
        ? textValue(formatPercent(left.value, right, budget))
        : remainder(left, right);
    case "/":
    case "//":
      if (numberOf(right) === 0) throw templateError("it divides by zero");
      return undefined;
    default:
      return undefined;
  }
}

function joined(left: string, right: string, budget: TemplateBudget): RuntimeValue {
  budget.text(left.length + right.length);
  return textValue(left + right);
}

function sum(left: RuntimeValue, right: RuntimeValue, budget: TemplateBudget): RuntimeValue | undefined {
  if (typeof left.value === "string" && typeof right.value === "string") return joined(left.value, right.value, budget);
  // The library would write the other side out.
  if (typeof left.value === "string" || typeof right.value === "string")
    throw templateError(`it adds ${kindOf(left)} and ${kindOf(right)}`);
  return undefined;
}

function repeated(what: RuntimeValue, times: RuntimeValue, budget: TemplateBudget): RuntimeValue | undefined {
  const isList = Array.isArray(what.value);
  if ((typeof what.value !== "string" && !isList) || times.type !== "IntegerValue") return undefined;
  const count = Math.max(0, numberOf(times) ?? 0);
  if (typeof what.value === "string") {
    budget.text(what.value.length * count);
    return textValue(what.value === "" ? "" : what.value.repeat(count));
  }
  const items = elements(what);
  budget.items(items.length * count);
  return listValue(items.length === 0 ? [] : Array.from({ length: count }, () => items).flat());
}

/** With the sign of the divisor, as Python's. */
function remainder(left: RuntimeValue, right: RuntimeValue): RuntimeValue | undefined {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a === undefined || b === undefined) return undefined;
  if (b === 0) throw templateError("it divides by zero");
  const rest = a % b;
  return numberValue(
    rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest,
    left.type === "FloatValue" || right.type === "FloatValue",
  );
}

export function isIn(left: RuntimeValue, right: RuntimeValue, budget: TemplateBudget): boolean {
  if (typeof right.value === "string") {
    if (typeof left.value !== "string") throw templateError(`it looks for ${kindOf(left)} in a text`);
    budget.search(right.value, left.value);
    return right.value.includes(left.value);
  }
  if (isUndefined(right)) return false;
  if (right.value instanceof Map && right.type !== "NamespaceValue")
    return typeof left.value === "string" && right.value.has(left.value);
  return elements(right).some((item) => areEqual(item, left, budget));
}

export function compares(
  operator: "<" | ">" | "<=" | ">=",
  left: RuntimeValue,
  right: RuntimeValue,
  budget: TemplateBudget,
): boolean {
  if (typeof left.value === "string") budget.spend(left.value.length / 32);
  const difference = order(left, right);
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
