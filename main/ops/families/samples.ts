/** Short spellings for sample inputs. */
import type { DType, ElementType } from "../../ir/dtype.ts";
import { isFloat } from "../../ir/dtype.ts";
import type { Shape } from "../../ir/dim.ts";
import { tensor } from "../../ir/type.ts";
import type { Sample, SampleInput } from "../defineOp.ts";

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

/** The samples, and the first of them once more in float64: what is exact in the reference, and for backends without it a refusal. */
export const withDoubles = <Attrs>(samples: readonly [Sample<Attrs>, ...Sample<Attrs>[]]): readonly Sample<Attrs>[] => {
  const [first] = samples;
  const inputs = first.inputs.map(({ type, fill }): SampleInput => ({
    fill,
    type: tensor(isFloat(type.dtype) ? "f64" : type.dtype, type.shape),
  }));
  return [...samples, { ...first, title: `${first.title}, float64`, inputs }];
};
