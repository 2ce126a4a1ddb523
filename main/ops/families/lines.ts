/** Ops that make one number of all along some axes: their types, and a reference line by line. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf, stridesOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, normalizeAxis, sameShape } from "../../ir/type.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { reduce } from "../reduce/reduce.ts";
import { bordered, scalarLike } from "./constants.ts";
import { at, boundShape } from "./host.ts";

export interface LinesAttrs {
  readonly axes: readonly number[];
  /** Keep reduced axes as 1. */
  readonly keepDims?: boolean;
}

export const linesSchema = { axes: attr.ints(), keepDims: attr.optional(attr.bool()) } as const;

/** As `reduce` has it, of floats. */
export function inferLines(op: string, x: TensorType, { axes, keepDims }: LinesAttrs): TensorType {
  if (x.dtype !== "f16" && x.dtype !== "bf16" && x.dtype !== "f32" && x.dtype !== "f64")
    throw new WorkbenchError("IR_TYPE", `[${op}] operand: got ${x.dtype}, expected floats`);
  return reduce.infer([x], { kind: "sum", axes, ...(keepDims !== undefined && { keepDims }) }, []);
}

/** Of two operands of one type, as losses have them. */
export function inferLinePairs(op: string, [x, y]: readonly [TensorType, TensorType], attrs: LinesAttrs): TensorType {
  if (x.dtype !== y.dtype || !sameShape(x.shape, y.shape))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] operands: got ${formatType(x)} and ${formatType(y)}, expected one type`,
      {
        hint: "Insert expand or cast.",
      },
    );
  return inferLines(op, x, attrs);
}

/**
 * The largest along some axes, and `least` where there are no elements, which no element is below: `reduce` has no largest of
 * nothing. An axis of a size that only the run knows may be empty then, and is one longer here.
 */
export function largest(g: OpBuilder, x: Value, { axes, keepDims = false }: LinesAttrs, least: number): Value {
  const { shape } = g.typeOf(x);
  const own = axes.map((axis) => normalizeAxis(axis, shape.length, "lines"));
  if (own.some((axis) => shape[axis] === 0))
    return g.add([g.reduce([x], { kind: "sum", axes, keepDims }), scalarLike(g, x, least)]);
  const open = own.filter((axis) => typeof shape[axis] !== "number");
  const longer = open.reduce((v, axis) => bordered(g, v, axis, [0, 1], least), x);
  return g.reduce([longer], { kind: "max", axes, keepDims });
}

/** `f` of the numbers of each line, those of all axes together. */
export function mapLines(
  x: HostTensor,
  axes: readonly number[],
  type: TensorType | undefined,
  f: (line: readonly number[]) => number,
): HostTensor {
  const reduced = axes.map((axis) => normalizeAxis(axis, x.shape.length, "lines"));
  const kept = x.shape.map((size, i) => (reduced.includes(i) ? 1 : size));
  const [from, to] = [stridesOf(x.shape), stridesOf(kept)];
  const all: number[][] = Array.from({ length: sizeOf(kept) }, () => []);
  x.data.forEach((value, i) => {
    const place = x.shape.reduce(
      (sum, size, axis) => sum + (reduced.includes(axis) ? 0 : (Math.floor(i / at(from, axis)) % size) * at(to, axis)),
      0,
    );
    all[place]?.push(value);
  });
  return hostTensor(x.dtype, boundShape(type, "lines"), all.map(f));
}
