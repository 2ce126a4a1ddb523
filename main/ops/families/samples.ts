/** Short spellings for sample inputs. */
import type { DType, ElementType } from "../../ir/dtype.ts";
import type { Shape } from "../../ir/dim.ts";
import { tensor } from "../../ir/type.ts";
import type { SampleInput } from "../defineOp.ts";

export const normal = (seed: number, shape: Shape, scale = 1, offset = 0): SampleInput => ({
  type: tensor("f32", shape),
  fill: { kind: "normal", seed, scale, offset },
});
export const uniform = (seed: number, shape: Shape, low: number, high: number): SampleInput => ({
  type: tensor("f32", shape),
  fill: { kind: "uniform", seed, low, high },
});
/** Whole numbers low..high, both included. */
export const integers = (seed: number, shape: Shape, low: number, high: number, dtype: DType = "i32"): SampleInput => ({
  type: tensor(dtype, shape),
  fill: { kind: "integers", seed, low, high },
});
export const values = (data: readonly number[], shape: Shape = [data.length], dtype: DType = "f32"): SampleInput => ({
  type: tensor(dtype, shape),
  fill: { kind: "values", data },
});
/** A weight of any element type; the data of a packed one is what its blocks stand for. */
export const weight = (seed: number, shape: Shape, dtype: ElementType = "f32"): SampleInput => ({
  type: tensor(dtype, shape),
  fill: { kind: "normal", seed, scale: 0.5 },
});
export const scalarInput = (value: number, dtype: DType = "i32"): SampleInput => values([value], [], dtype);
