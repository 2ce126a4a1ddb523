/** Activations as codes of eight bits: one scale and zero, or one for each index of an axis. Their weights are constexprs. */
import type { PackageTensor } from "../../package/packageTensor.ts";
import { allocate, packageTensor } from "../../package/packageTensor.ts";
import type { Arguments, Kernel } from "../../simulator/kernel.ts";
import { tensorType } from "../types.ts";
import { roundEven } from "./elementwise.ts";
import type { Operators } from "./operator.ts";
import { namedDtype } from "./operator.ts";

/** Of element i: its scale, and its zero. */
function affineOf(a: Arguments, x: PackageTensor): (i: number) => readonly [scale: number, zero: number] {
  const [scales, zeros] = [a.tensor("scale").data, a.optional("zero_point")?.data];
  const axis = a.has("axis") && scales.length > 1 ? a.axis("axis", x.shape.length) : undefined;
  const inner = axis === undefined ? 1 : x.shape.slice(axis + 1).reduce((product, size) => product * size, 1);
  return (i) => {
    const at = axis === undefined ? 0 : Math.floor(i / inner) % scales.length;
    return [scales[at] ?? NaN, zeros?.[zeros.length > 1 ? at : 0] ?? 0];
  };
}

const LIMITS: Readonly<Record<string, readonly [number, number]>> = { int8: [-128, 127], uint8: [0, 255] };

/** What is no number is 0; what Core ML makes of it is nowhere said. */
const quantize: Kernel = (a) => {
  const x = a.tensor("input");
  const [affine, out] = [affineOf(a, x), allocate(a.dtype, x.data.length)];
  const [low, high] = LIMITS[a.dtype] ?? [-128, 127];
  for (let i = 0; i < out.length; i++) {
    const [scale, zero] = affine(i);
    const code = roundEven((x.data[i] ?? NaN) / scale) + zero;
    out[i] = Number.isNaN(code) ? 0 : Math.min(Math.max(code, low), high);
  }
  return packageTensor(a.dtype, x.shape, out);
};

const dequantize: Kernel = (a) => {
  const x = a.tensor("input");
  const [affine, out] = [affineOf(a, x), allocate(a.dtype, x.data.length)];
  for (let i = 0; i < out.length; i++) {
    const [scale, zero] = affine(i);
    out[i] = ((x.data[i] ?? NaN) - zero) * scale;
  }
  return packageTensor(a.dtype, x.shape, out);
};

/** A product, a sum, and the rounding and holding of a code. */
const FOUR_EACH = (out: number): number => 4 * out;

export const QUANTISED: Operators = {
  quantize: {
    infer: (a) => [tensorType(namedDtype(a, "output_dtype"), a.tensor("input").shape)],
    run: quantize,
    flops: FOUR_EACH,
  },
  dequantize: {
    infer: (a) => [tensorType(a.tensor("scale").dtype, a.tensor("input").shape)],
    run: dequantize,
    flops: (out) => 2 * out,
  },
};
