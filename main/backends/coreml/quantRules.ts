/**
 * Codes of eight bits as MIL's own `quantize` and `dequantize`. These take scales and zeros that are constants of the program, and
 * refuse a scale that is not above 0; where a graph computes them, or has such a scale, the same is written as plain operators. Codes
 * are int8 between the two and int32 to everything else, as all whole numbers are.
 */
import { normalizeAxis } from "../../ir/type.ts";
import type { CoremlEmitter, CoremlRule, MilValue } from "./emitter.ts";
import { milNative } from "./rules.ts";

interface AffineAttrs {
  /** Of the axis with a scale for each index; absent for one scale. */
  readonly axis?: number;
}

type Operands = readonly [MilValue, MilValue, MilValue?];

const [LEAST, MOST] = [-128, 127];
/** The smallest half with all its digits: a smaller scale could become 0. */
const SMALLEST_SCALE = 2 ** -14;

/** What MIL's operators take besides their input; undefined where they do not take it. */
function parametersOf(e: CoremlEmitter, [x, scale, zero]: Operands, { axis }: AffineAttrs) {
  const scales = e.numbers(scale);
  const zeros = zero && e.numbers(zero);
  const isTaken = scales !== undefined && Array.from(scales).every((value) => value >= SMALLEST_SCALE);
  if (!isTaken || (zero !== undefined && zeros === undefined)) return undefined;
  return {
    scale,
    ...(zeros && { zero_point: e.constant("int8", [...e.sizes(scale, "quantize")], zeros) }),
    ...(axis === undefined ? {} : { axis: normalizeAxis(axis, x.type.shape.length, "quantize") }),
  };
}

/** One number for all, or one for each index of the axis, as it broadcasts against the tensor. */
function along(e: CoremlEmitter, value: MilValue, x: MilValue, { axis }: AffineAttrs): MilValue {
  if (axis === undefined) return value;
  const rank = x.type.shape.length;
  const behind = new Array<number>(rank - normalizeAxis(axis, rank, "quantize") - 1).fill(1);
  return e.op("reshape", { x: value, shape: [...e.sizes(value, "quantize"), ...behind] });
}

function quantized(e: CoremlEmitter, operands: Operands, attrs: AffineAttrs): MilValue {
  const [x, scale, zero] = operands;
  const own = parametersOf(e, operands, attrs);
  if (own !== undefined) return e.cast(e.op("quantize", { input: x, ...own, output_dtype: "int8" }), "int32");
  const rounded = e.op("round", { x: e.op("real_div", { x, y: along(e, scale, x, attrs) }) });
  const moved = zero ? e.op("add", { x: rounded, y: e.cast(along(e, zero, x, attrs), e.float) }) : rounded;
  return e.cast(e.op("clip", { x: moved, alpha: LEAST, beta: MOST }), "int32");
}

function dequantized(e: CoremlEmitter, operands: Operands, attrs: AffineAttrs): MilValue {
  const [codes, scale, zero] = operands;
  const own = parametersOf(e, operands, attrs);
  if (own !== undefined) return e.op("dequantize", { input: e.cast(codes, "int8"), ...own });
  const real = e.cast(codes, e.float);
  const centre = zero ? e.op("sub", { x: real, y: e.cast(along(e, zero, codes, attrs), e.float) }) : real;
  return e.op("mul", { x: centre, y: along(e, scale, codes, attrs) });
}

const how = (op: string): { readonly how: () => string } => ({
  how: () =>
    `its own ${op} where scale and zero are constants and the scale is above 0, which is all that takes, and plain operators otherwise`,
});

export const milQuantize: CoremlRule<Operands, AffineAttrs> = { ...milNative(quantized), ...how("quantize") };
export const milDequantize: CoremlRule<Operands, AffineAttrs> = { ...milNative(dequantized), ...how("dequantize") };
