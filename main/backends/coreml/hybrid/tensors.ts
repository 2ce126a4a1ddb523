/** Values between the IR's host tensors (float64) and the simulator's. */
import type { DType } from "../../../ir/dtype.ts";
import { isFloat, isPacked } from "../../../ir/dtype.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import { hostTensor } from "../../../ir/hostTensor.ts";
import { roundToFloat } from "../../../quant/half.ts";
import type { TensorType } from "../../../ir/type.ts";
import { staticShape } from "../../../ir/type.ts";
import type { FeatureBinding } from "../lowering/lower.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { packageTensor } from "../package/packageTensor.ts";

/** A host value as the feature that stands for it: rounded to its type, scalars as one element. */
export const toFeature = (binding: FeatureBinding, value: HostTensor): PackageTensor =>
  packageTensor(binding.dtype, binding.shape, Float64Array.from(value.data));

/** A feature as a host value of the graph's type. */
export function fromFeature(value: PackageTensor, type: TensorType): HostTensor {
  const dtype: DType = isPacked(type.dtype) ? "f32" : type.dtype;
  const data = Float64Array.from(value.data);
  const narrow = isFloat(dtype) && dtype !== "f32" && dtype !== "f64";
  return hostTensor(dtype, staticShape(type, "feature"), narrow ? data.map((v) => roundToFloat(v, dtype)) : data);
}
