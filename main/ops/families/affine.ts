/** Codes of eight bits and what they stand for: (code − zero) · scale, with one scale for all or one for each index of an axis. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import { isFloat } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { stridesOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, normalizeAxis, sameShape } from "../../ir/type.ts";
import type { SampleInput } from "../defineOp.ts";
import { nondifferentiable, unsupported } from "../defineOp.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { scalarLike } from "./constants.ts";
import { at, roundHalfEven } from "./host.ts";
import { integers } from "./samples.ts";

export interface AffineAttrs {
  /** Of the axis with a scale for each index; absent for one scale. */
  readonly axis?: number;
}
export const affineSchema = { axis: attr.optional(attr.int()) } as const;

const [LEAST, MOST] = [-128, 127];

/** A scale [] or [size of the axis] of floats, and zeros of the same shape in codes. */
export function checkAffine(
  op: string,
  x: TensorType,
  [scale, zero]: readonly [TensorType, TensorType | undefined],
  { axis }: AffineAttrs,
): void {
  const shape = axis === undefined ? [] : [x.shape[normalizeAxis(axis, x.shape.length, op)] ?? 1];
  const fits = (type: TensorType | undefined): boolean => type === undefined || sameShape(type.shape, shape);
  if (!isFloat(scale.dtype) || !fits(scale) || !fits(zero) || (zero !== undefined && zero.dtype !== "i8"))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] scale and zero: got ${formatType(scale)}${zero === undefined ? "" : ` and ${formatType(zero)}`}, expected floats and i8 of [${shape.join(", ")}]`,
      { hint: "A scale for each index needs the attribute axis." },
    );
}

/** One number for all, or one for each index, as it broadcasts against the tensor. */
export function along(g: OpBuilder, value: Value, rank: number, axis: number | undefined): Value {
  if (axis === undefined) return value;
  const own = normalizeAxis(axis, rank, "affine");
  const size = g.typeOf(value).shape[0] ?? 1;
  return g.reshape([value], { shape: [size, ...new Array<number>(rank - own - 1).fill(1)] });
}

/** The place in scales and zeros that belongs to element i. */
export function placeOf(x: HostTensor, axis: number | undefined): (i: number) => number {
  if (axis === undefined) return () => 0;
  const own = normalizeAxis(axis, x.shape.length, "affine");
  const [stride, size] = [at(stridesOf(x.shape), own), at(x.shape, own)];
  return (i) => Math.floor(i / stride) % size;
}

/** Rounded to the nearest code, ties to even, and held within eight bits; what is no number is 0. */
export const codeOf = (value: number, zero: number): number =>
  Number.isNaN(value) ? 0 : Math.min(Math.max(roundHalfEven(value) + zero, LEAST), MOST);

export function codeParts(g: OpBuilder, value: Value, zero: Value | undefined): Value {
  const rounded = g.round([value]);
  const moved = zero === undefined ? rounded : g.add([rounded, zero]);
  return g.cast([g.clamp([moved], { low: LEAST, high: MOST })], { to: "i8" });
}

export interface RequantizeAttrs {
  readonly xZero: number;
  readonly weightZero: number;
  readonly outZero: number;
  /** That of x times that of the weight, by that of the result. */
  readonly scale: number;
}
const zero = (): ReturnType<typeof attr.int> => attr.int(LEAST, MOST);
export const requantizeSchema = { xZero: zero(), weightZero: zero(), outZero: zero(), scale: attr.float() } as const;

/** Codes as the whole numbers that they stand for, in floats. */
export function centred(g: OpBuilder, codes: Value, zero: number): Value {
  const value = g.cast([codes], { to: "f32" });
  return zero === 0 ? value : g.sub([value, scalarLike(g, value, zero)]);
}

/** So many products of two codes have a sum that f32 holds exactly: 256 · 255² < 2²⁴. */
export const EXACT_PRODUCTS = 256;

/** An exact sum in floats as i32; a fast convolution may have left it a little off. */
export const wholeSum = (g: OpBuilder, sum: Value): Value => g.cast([g.round([sum])], { to: "i32" });

/** Sums in i32 as codes. */
export function requantized(g: OpBuilder, sums: Value, { scale, outZero }: RequantizeAttrs): Value {
  const real = g.cast([sums], { to: "f32" });
  return codeParts(g, g.mul([real, scalarLike(g, real, scale)]), scalarLike(g, real, outZero));
}

export const NO_SLOPE = nondifferentiable(
  "the result is whole numbers: training takes fake_quantize, whose gradient goes straight through",
);

/** NumPy's own scales and zeros, for oracles. */
export const OWN_SCALES = `
def own(v):
    return v if a.get("axis") is None else np.reshape(v, (-1,) + (1,) * (x0.ndim - a["axis"] % x0.ndim - 1))
`.trim();
export const OWN_ZERO = "zero = own(xs[2]).astype('f8') if len(xs) > 2 else 0";

/** Any codes, for samples. */
export const someCodes = (seed: number, shape: Shape): SampleInput => integers(seed, shape, -128, 127, "i8");

export const CODES_ON_HOST = unsupported(
  "Core ML multiplies in floats, where sums of products of codes are not exact: it runs as a host segment between Core ML models",
);

export function checkCodes(
  op: string,
  types: readonly TensorType[],
  bias: TensorType | undefined,
  outputs: TensorType["shape"][number] | undefined,
): void {
  const isWrong = types.some(({ dtype }) => dtype !== "i8");
  const isOdd = bias !== undefined && (bias.dtype !== "i32" || !sameShape(bias.shape, [outputs ?? 1]));
  if (isWrong || isOdd)
    throw new WorkbenchError(
      "IR_TYPE",
      `[${op}] operands: got ${[...types, ...(bias === undefined ? [] : [bias])].map(formatType).join(", ")}; expected i8, i8 and a bias i32[${outputs ?? 1}]`,
    );
}
