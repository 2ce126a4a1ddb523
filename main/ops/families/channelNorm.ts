/** What norms with a scale and a shift per channel share: shapes, and constants along one axis. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Shape } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** Floats with at least `least` axes; every further operand is a vector of the channels' size and of one dtype with x. */
export function inferChannelNorm(
  op: string,
  inputs: readonly [TensorType, ...TensorType[]],
  axis: number,
  least: number,
): TensorType {
  const [x, ...vectors] = inputs;
  const dtype = plainDType(x.dtype, op);
  const channels = x.shape[axis];
  if (!isFloat(dtype) || channels === undefined || x.shape.length < least)
    throw new WorkbenchError("IR_TYPE", `[${op}] got ${formatType(x)}, expected floats with ${least} axes at least`);
  for (const vector of vectors)
    if (vector.dtype !== dtype || !sameShape(vector.shape, [channels]))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[${op}] per channel: got ${formatType(vector)}, expected ${dtype}[${channels}]`,
      );
  return tensor(dtype, x.shape);
}

/** A vector so shaped that it lies along one axis of `rank`. */
export function alongAxis(g: OpBuilder, vector: Value, axis: number, rank: number): Value {
  const [size = 1] = g.typeOf(vector).shape;
  const shape: Shape = Array.from({ length: rank }, (_, i) => (i === axis ? size : 1));
  return g.reshape([vector], { shape });
}
