/** Parts of texts, lists and tuples by their places: `x[start:stop:step]`, as Python counts. */
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { UNDEFINED, elements, isUndefined, kindOf, listValue, textLike, tupleValue } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

type Bound = RuntimeValue | undefined;
type Bounds = readonly [start: Bound, stop: Bound, step: Bound];

export function sliced(value: RuntimeValue, bounds: Bounds, budget: TemplateBudget): RuntimeValue {
  const { value: whole } = value;
  if (typeof whole !== "string" && !Array.isArray(whole)) return UNDEFINED;
  const [start, stop, step = 1] = bounds.map(place);
  if (typeof whole === "string") {
    const characters = /[\ud800-\udfff]/.test(whole) ? Array.from(whole) : whole;
    const kept = places(characters.length, start, stop, step);
    budget.spend(kept.length / 4);
    return textLike(value, kept.map((at) => characters[at] ?? "").join(""));
  }
  const items = elements(value);
  const kept = places(items.length, start, stop, step).flatMap((at) => items[at] ?? []);
  return value.type === "TupleValue" ? tupleValue(kept) : listValue(kept);
}

function place(value: RuntimeValue | undefined): number | undefined {
  if (value === undefined || value.type === "NullValue") return undefined;
  if (typeof value.value === "boolean") return Number(value.value);
  if (value.type !== "IntegerValue" || isUndefined(value))
    throw templateError(`a slice has ${kindOf(value)} as a bound`);
  return Number(value.value);
}

function places(length: number, start: number | undefined, stop: number | undefined, step: number): number[] {
  if (step === 0) throw templateError("a slice has the step 0");
  const [lowest, highest] = step > 0 ? [0, length] : [-1, length - 1];
  const within = (at: number): number => Math.min(highest, Math.max(lowest, at < 0 ? at + length : at));
  const from = start === undefined ? (step > 0 ? lowest : highest) : within(start);
  const to = stop === undefined ? (step > 0 ? highest : lowest) : within(stop);
  return Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, i) => from + i * step);
}
