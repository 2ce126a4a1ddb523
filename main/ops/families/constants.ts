/** Constants and sizes inside rules and decompositions. */
import type { Dim, Shape } from "../../ir/dim.ts";
import { productOf } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** A scalar of the dtype of `x`; it broadcasts. */
export const scalarLike = (g: OpBuilder, x: Value, value: number): Value =>
  g.constant(hostScalar(plainDType(g.typeOf(x).dtype, "constant"), value));

export const filled = (g: OpBuilder, dtype: DType, shape: Shape, value: number): Value =>
  g.expand([g.constant(hostScalar(dtype, value))], { shape });

export const filledLike = (g: OpBuilder, x: Value, value: number): Value => {
  const { dtype, shape } = g.typeOf(x);
  return filled(g, plainDType(dtype, "constant"), shape, value);
};

/** `x` with `value` before and behind it along one axis; sizes of 0 add nothing. */
export function bordered(
  g: OpBuilder,
  x: Value,
  axis: number,
  [before, after]: readonly [Dim, Dim],
  value: number,
): Value {
  const { dtype, shape } = g.typeOf(x);
  const border = (size: Dim): readonly Value[] =>
    size === 0 ? [] : [filled(g, plainDType(dtype, "border"), shape.with(axis, size), value)];
  const parts = [...border(before), x, ...border(after)];
  return parts.length === 1 ? x : g.concat(parts, { axis });
}

/** A product of sizes as a scalar of `dtype`: a constant, or computed when a symbol is among them. */
export function sizeValue(g: OpBuilder, dims: readonly Dim[], dtype: DType): Value {
  const total = productOf(dims);
  if (typeof total === "number") return g.constant(hostScalar(dtype, total));
  const ones = g.expand([g.constant(hostScalar("i32", 1))], { shape: [total] });
  const count = g.reduce([ones], { kind: "sum", axes: [0] });
  return dtype === "i32" ? count : g.cast([count], { to: dtype });
}

/** What a masked score becomes: low enough to vanish in a softmax, and a number in the dtype. */
export const maskedScore = (dtype: DType): number => (dtype === "f16" ? -40000 : -1e30);
