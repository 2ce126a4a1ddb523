/**
 * Values that enter and leave the functions of a package: floats (fp16 and fp32) as float32 numbers, everything else as int32.
 * An fp16 value is a float32 number that a half can hold.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import { roundArrayToHalf } from "../../../quant/half.ts";
import type { MilDtype } from "../mil/types.ts";
import { elementCount, isFloat } from "../mil/types.ts";

export interface PackageTensor {
  readonly dtype: MilDtype;
  readonly shape: readonly number[];
  readonly data: Float32Array | Int32Array;
  /** Only for string constants. */
  readonly text?: string;
}

/** Storage for `count` elements of a type. */
export const allocate = (dtype: MilDtype, count: number): Float32Array | Int32Array =>
  isFloat(dtype) ? new Float32Array(count) : new Int32Array(count);

/** A tensor from numbers computed at higher precision: rounded to the type. */
export function packageTensor(dtype: MilDtype, shape: readonly number[], values: ArrayLike<number>): PackageTensor {
  const count = elementCount(shape);
  if (values.length !== count)
    throw new WorkbenchError(
      "RUN_FAILED",
      `[package tensor] [${shape.join()}]: got ${values.length} values, expected ${count}`,
    );
  if (!isFloat(dtype)) return { dtype, shape, data: values instanceof Int32Array ? values : Int32Array.from(values) };
  const data = values instanceof Float32Array ? values : Float32Array.from(values);
  if (dtype === "fp16") roundArrayToHalf(data);
  return { dtype, shape, data };
}
