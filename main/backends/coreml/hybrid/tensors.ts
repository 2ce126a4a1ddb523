/** Values between the IR's host tensors (float64) and what packages take and give. */
import { invariant } from "../../../diagnostics/errors.ts";
import type { DType, ElementType } from "../../../ir/dtype.ts";
import { isFloat, isPacked } from "../../../ir/dtype.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import { hostTensor } from "../../../ir/hostTensor.ts";
import { roundToFloat } from "../../../quant/half.ts";
import type { TensorType } from "../../../ir/type.ts";
import { staticShape } from "../../../ir/type.ts";
import type { FeatureBinding } from "../lowering/lower.ts";
import type { MilDtype } from "../mil/types.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { packageTensor } from "../package/packageTensor.ts";
import { whyNotElement } from "../rules.ts";

/** A host value as the feature that stands for it: floats rounded to its type, scalars as one element. */
export function toFeature(
  { feature, dtype, shape }: Pick<FeatureBinding, "feature" | "dtype" | "shape">,
  value: HostTensor,
): PackageTensor {
  requireHeld(feature, value.dtype);
  return packageTensor(dtype, shape, Float64Array.from(value.data));
}

/** Partition keeps such values on the host: one that comes this far would be cut or wrapped in silence. */
function requireHeld(feature: string, dtype: ElementType): void {
  const reason = whyNotElement(dtype);
  invariant(reason === undefined, `feature ${feature} is a value of ${dtype}: ${reason ?? ""}`);
}

/** A feature as a host value of the graph's type. */
export function fromFeature(
  { feature }: Pick<FeatureBinding, "feature">,
  value: PackageTensor,
  type: TensorType,
): HostTensor {
  requireHeld(feature, type.dtype);
  const dtype: DType = isPacked(type.dtype) ? "f32" : type.dtype;
  const data = Float64Array.from(value.data);
  const narrow = isFloat(dtype) && dtype !== "f32" && dtype !== "f64";
  return hostTensor(dtype, staticShape(type, "feature"), narrow ? data.map((v) => roundToFloat(v, dtype)) : data);
}

/** How a value that no Core ML function sees is held between steps: in floats or whole numbers of 32 bits that lose nothing. */
export interface HeldForm {
  readonly dtype: Extract<MilDtype, "fp32" | "int32">;
  readonly shape: readonly number[];
}

/** Numbers of 64 bits, and u32, are pairs of words of a float64; complex numbers are pairs of floats. */
export function heldForm(type: TensorType): HeldForm {
  const shape = staticShape(type, "state");
  switch (type.dtype) {
    case "i64":
    case "f64":
    case "u32":
      return { dtype: "int32", shape: [...shape, 2] };
    case "c64":
      return { dtype: "fp32", shape: [...shape, 2] };
    case "bool":
    case "u8":
    case "i8":
    case "i16":
    case "i32":
      return { dtype: "int32", shape };
    default:
      return { dtype: "fp32", shape };
  }
}

const isPair = (dtype: TensorType["dtype"]): boolean => dtype === "i64" || dtype === "f64" || dtype === "u32";

export function toHeld(type: TensorType, value: HostTensor): PackageTensor {
  const { dtype, shape } = heldForm(type);
  if (!isPair(type.dtype)) return packageTensor(dtype, shape, value.data);
  const numbers = value.data.slice();
  return { dtype, shape, data: new Int32Array(numbers.buffer, 0, 2 * numbers.length) };
}

export function fromHeld(type: TensorType, held: PackageTensor): HostTensor {
  const dtype: DType = isPacked(type.dtype) ? "f32" : type.dtype;
  const shape = staticShape(type, "state");
  const numbers = isPair(type.dtype) ? new Float64Array(held.data.slice().buffer) : held.data;
  return hostTensor(dtype, shape, numbers);
}
