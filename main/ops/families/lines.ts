/** Ops that make one number of all along some axes: their types, and a reference line by line. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf, stridesOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, normalizeAxis, sameShape } from "../../ir/type.ts";
import { reduce } from "../reduce/reduce.ts";
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
