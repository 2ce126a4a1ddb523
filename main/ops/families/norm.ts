/** What norms share: their types, vectors along one axis, and the RMS norm for Core ML. */
import type { CoremlEmitter, MilValue } from "../../backends/coreml/emitter.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import type { OpBuilder } from "../opBuilder.ts";

export const lastAxis = [-1] as const;

/** Floats with at least `least` axes; every further operand is a vector of the size of `axis`, of one dtype with x. */
export function inferNorm(
  op: string,
  [x, ...vectors]: readonly [TensorType, ...(TensorType | undefined)[]],
  axis = -1,
  least = 1,
): TensorType {
  const dtype = plainDType(x.dtype, op);
  const size = x.shape.at(axis);
  if (!isFloat(dtype) || size === undefined || x.shape.length < least)
    throw new WorkbenchError("IR_TYPE", `[${op}] got ${formatType(x)}, expected floats with ${least} axes at least`);
  for (const vector of vectors)
    if (vector && (vector.dtype !== dtype || !sameShape(vector.shape, [size])))
      throw new WorkbenchError("IR_SHAPE", `[${op}] scale: got ${formatType(vector)}, expected ${dtype}[${size}]`);
  return tensor(dtype, x.shape);
}

/** A vector, reshaped to lie along one axis of `rank`. */
export function alongAxis(g: OpBuilder, vector: Value, axis: number, rank: number): Value {
  const [size = 1] = g.typeOf(vector).shape;
  return g.reshape([vector], { shape: Array.from({ length: rank }, (_, i) => (i === axis ? size : 1)) });
}

/**
 * x / √(mean x² + eps). In half precision x² overflows beyond 256, so x is divided by its largest
 * magnitude m first: x/m / √(mean (x/m)² + eps/m²).
 */
export function milRms(e: CoremlEmitter, x: MilValue, eps: number): MilValue {
  const mean = (v: MilValue): MilValue =>
    e.op("reduce_mean", { x: e.op("mul", { x: v, y: v }), axes: [-1], keep_dims: true });
  if (e.float === "fp32")
    return e.op("mul", { x, y: e.op("rsqrt", { x: e.op("add", { x: mean(x), y: eps }), epsilon: 0 }) });
  const root = Math.sqrt(eps);
  const largest = e.op("reduce_max", { x: e.op("abs", { x }), axes: [-1], keep_dims: true });
  const safe = e.op("maximum", { x: largest, y: Math.max(root, 1e-4) });
  const scaled = e.op("real_div", { x, y: safe });
  const ratio = e.op("real_div", { x: root, y: safe });
  const total = e.op("add", { x: mean(scaled), y: e.op("mul", { x: ratio, y: ratio }) });
  return e.op("mul", { x: scaled, y: e.op("rsqrt", { x: total, epsilon: 0 }) });
}
