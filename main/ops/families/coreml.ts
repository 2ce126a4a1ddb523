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
