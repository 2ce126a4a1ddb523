/** Positions along axes as i32 values, for ops that are a gather or a scatter of computed places. */
import type { Dim, Shape } from "../../ir/dim.ts";
import { addDims } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { sizeValue } from "./constants.ts";

export const whole = (g: OpBuilder, value: number): Value => g.constant(hostScalar("i32", value));

/** start, start + step, … : `length` of them. */
export function steps(g: OpBuilder, start: Dim, length: Dim, step = 1): Value {
  const counted = g.iota([], { shape: [length], axis: 0 });
  const spread = step === 1 ? counted : g.mul([counted, whole(g, step)]);
  if (start === 0) return spread;
  return g.add([spread, typeof start === "number" ? whole(g, start) : sizeValue(g, [start], "i32")]);
}

/** How positions outside of an axis are taken from inside of it. */
export type Outside = "reflect" | "replicate" | "circular";

/** Positions -before … size + after - 1, each laid into 0 … size - 1. */
export function laidInside(g: OpBuilder, size: Dim, before: number, after: number, how: Outside): Value {
  const at = steps(g, -before, addDims(size, before + after));
  const count = sizeValue(g, [size], "i32");
  const last = g.sub([count, whole(g, 1)]);
  switch (how) {
    case "replicate":
      return g.minimum([g.maximum([at, whole(g, 0)]), last]);
    case "circular":
      return g.mod([g.add([g.mod([at, count]), count]), count]);
    case "reflect": {
      // There and back again, without either end twice; of one element there is no way.
      const way = g.maximum([g.mul([last, whole(g, 2)]), whole(g, 1)]);
      const along = g.mod([g.abs([at]), way]);
      return g.minimum([along, g.abs([g.sub([way, along])])]);
    }
  }
}

/** The same of one position. */
export function inside(at: number, size: number, how: Outside): number {
  if (how === "replicate") return Math.min(Math.max(at, 0), size - 1);
  if (how === "circular") return ((at % size) + size) % size;
  const way = Math.max(2 * (size - 1), 1);
  const along = Math.abs(at) % way;
  return size === 1 ? 0 : Math.min(along, way - along);
}

/** Numbers of axes of one shape that are as long as `sizes`, as places in row-major order; -1 where one is outside. */
export function places(g: OpBuilder, axes: readonly Value[], sizes: Shape): Value {
  const zero = whole(g, 0);
  let [sum, fits]: [Value, Value | undefined] = [zero, undefined];
  for (const [i, at] of axes.entries()) {
    const size = sizeValue(g, [sizes[i] ?? 1], "i32");
    sum = i === 0 ? at : g.add([g.mul([sum, size]), at]);
    const good = g.logical_and([g.compare([at, zero], { op: "ge" }), g.compare([at, size], { op: "lt" })]);
    fits = fits === undefined ? good : g.logical_and([fits, good]);
  }
  return fits === undefined ? sum : g.where([fits, sum, whole(g, -1)]);
}
