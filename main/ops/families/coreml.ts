/** Core ML recipes that need more than one operator. */
import type { CoremlEmitter, MilValue } from "../../backends/coreml/emitter.ts";
import type { TensorType } from "../../ir/type.ts";
import { staticShape } from "../../ir/type.ts";

/** Stretches `x` (of IR type `from`) to `shape`: unit axes in front, then `tile`. */
export function milExpand(e: CoremlEmitter, x: MilValue, from: TensorType, shape: readonly number[]): MilValue {
  const own = staticShape(from, "expand");
  const missing = shape.length - own.length;
  const aligned = [...new Array<number>(missing).fill(1), ...own];
  const ranked = missing > 0 ? e.op("expand_dims", { x, axes: aligned.slice(0, missing).map((_, i) => i) }) : x;
  const reps = shape.map((size, i) => (size === aligned[i] ? 1 : size));
  if (reps.every((rep) => rep === 1)) return ranked === x ? e.op("identity", { x }) : ranked;
  return e.op("tile", { x: ranked, reps });
}

/** A weight as a plain tensor; a computed value as it is. */
export const milPlain = (e: CoremlEmitter, x: MilValue): MilValue => (x.weight === undefined ? x : e.dense(x));

/**
 * x / y of int32, towards zero, by zero 0: what `real_div` does with whole numbers is nowhere said, `floor_div` rounds down. One more
 * is right where a rest is left whose sign is not that of x. x − q·y may wrap in between and is exact all the same.
 */
export function milDivideWhole(e: CoremlEmitter, x: MilValue, y: MilValue): MilValue {
  const divides = e.op("not_equal", { x: y, y: 0 });
  const q = e.op("floor_div", { x, y: e.op("select", { cond: divides, a: y, b: 1 }) });
  const rest = e.op("sub", { x, y: e.op("mul", { x: q, y }) });
  const signs = e.op("logical_xor", { x: negative(e, x), y: negative(e, rest) });
  const low = e.op("logical_and", { x: signs, y: e.op("not_equal", { x: rest, y: 0 }) });
  return e.op("mul", { x: e.op("add", { x: q, y: e.cast(low, "int32") }), y: e.cast(divides, "int32") });
}

/**
 * x^y of int32 by repeated squares, a step for each bit of the exponent, so that large powers wrap as products do: how `pow` rounds
 * whole numbers is nowhere said. Under a negative exponent only 1 and −1 stay whole; everything else is cut off to 0.
 */
export function milPowerWhole(e: CoremlEmitter, x: MilValue, y: MilValue): MilValue {
  const vanishes = e.op("logical_and", {
    x: negative(e, y),
    y: e.op("not_equal", { x: e.op("abs", { x }), y: 1 }),
  });
  let [base, rest] = [x, e.op("abs", { x: y })];
  let power = e.cast(e.op("logical_not", { x: vanishes }), "int32");
  for (let bit = 0; bit < EXPONENT_BITS; bit++) {
    const odd = e.op("not_equal", { x: e.op("mod", { x: rest, y: 2 }), y: 0 });
    power = e.op("mul", { x: power, y: e.op("select", { cond: odd, a: base, b: 1 }) });
    base = e.op("mul", { x: base, y: base });
    rest = e.op("floor_div", { x: rest, y: 2 });
  }
  return power;
}

/** Of an int32 without its sign. */
const EXPONENT_BITS = 31;

const negative = (e: CoremlEmitter, x: MilValue): MilValue => e.op("less", { x, y: 0 });
