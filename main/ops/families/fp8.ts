/**
 * Floats of eight bits (OCP 8-bit floating point, 2023) and scales for blocks of them.
 *
 *   e4m3   sign, 4 bits of exponent, 3 of mantissa: up to 448; no infinities, one pattern each sign that is no number
 *   e5m2   sign, 5 bits of exponent, 2 of mantissa: up to 57344; infinities and no numbers as in half floats
 *
 * A number is what its code stands for times the scale of its block: `block` numbers of the last axis share one, the last block
 * may be shorter; without a block all numbers of a row do. Scales have the shape of the numbers, with blocks for the last axis.
 *
 * Encoding: a = |x / scale|, at most the largest number; e = floor(log2 a), at least that of the smallest normal number;
 * q = a / 2^(e - mantissa bits), rounded to even; code = (e + bias - 1) 2^(mantissa bits) + q, whether q carries or not.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { AttrSchema } from "../../ir/attributes.ts";
import { attr } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape } from "../../ir/type.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { scalarLike } from "./constants.ts";
import { at, roundHalfEven } from "./host.ts";

export const FP8_FORMATS = ["e4m3", "e5m2"] as const;
export interface Fp8Attrs {
  readonly format: (typeof FP8_FORMATS)[number];
  /** So many numbers of the last axis share a scale; all of a row where it is absent. */
  readonly block?: number;
}
export const fp8Schema: AttrSchema<Fp8Attrs> = { format: attr.oneOf(FP8_FORMATS), block: attr.optional(attr.int(1)) };

interface Format {
  readonly mantissa: number;
  readonly bias: number;
  readonly most: number;
  /** The code that is no number. */
  readonly none: number;
}
const FORMATS: Readonly<Record<Fp8Attrs["format"], Format>> = {
  e4m3: { mantissa: 3, bias: 7, most: 448, none: 0x7f },
  e5m2: { mantissa: 2, bias: 15, most: 57344, none: 0x7e },
};

/** The number of a code. */
export function decoded(code: number, format: Fp8Attrs["format"]): number {
  const { mantissa, bias, most } = FORMATS[format];
  const size = code & 0x7f;
  const [exponent, rest] = [size >> mantissa, size & ((1 << mantissa) - 1)];
  const magnitude =
    exponent === 0 ? rest * 2 ** (1 - bias - mantissa) : (rest + (1 << mantissa)) * 2 ** (exponent - bias - mantissa);
  const value = magnitude <= most ? magnitude : format === "e5m2" && rest === 0 ? Infinity : NaN;
  return code > 0x7f ? -value : value;
}

/** The code of a number, held within the largest ones; zero has one. */
export function encoded(value: number, format: Fp8Attrs["format"]): number {
  const { mantissa, bias, most, none } = FORMATS[format];
  if (Number.isNaN(value)) return none;
  const size = Math.min(Math.abs(value), most);
  let exponent = 1 - bias;
  while (size >= 2 ** (exponent + 1)) exponent++;
  const code = (exponent + bias - 1) * 2 ** mantissa + roundHalfEven(size / 2 ** (exponent - mantissa));
  return code + (value < 0 ? 0x80 : 0);
}

/** Checks the scales of `numbers` and gives their shape. */
export function checkScales(op: string, numbers: TensorType, scale: TensorType, { block }: Fp8Attrs): void {
  const [last, rest] = [numbers.shape.at(-1), numbers.shape.slice(0, -1)];
  if (last === undefined || (block !== undefined && typeof last !== "number"))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] got ${formatType(numbers)}, expected a last axis${block === undefined ? "" : ` of known size, for blocks of ${block}`}`,
    );
  const blocks = block === undefined ? 1 : Math.ceil(Number(last) / block);
  const expected: Shape = [...rest, blocks];
  if (!isFloat(scale.dtype) || !sameShape(scale.shape, expected))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] scale: got ${formatType(scale)}, expected floats [${expected.join(", ")}]`,
      { hint: "The attribute block says how many numbers share a scale." },
    );
}

/** The place of the scale of element i. */
export function scaleOf(numbers: HostTensor, scale: HostTensor, { block }: Fp8Attrs): (i: number) => number {
  const size = numbers.shape.at(-1) ?? 1;
  const blocks = scale.shape.at(-1) ?? 1;
  return (i) =>
    at(scale.data, Math.floor(i / size) * blocks + (block === undefined ? 0 : Math.floor((i % size) / block)));
}

/** Scales as they broadcast against the numbers. */
function spreadScales(g: OpBuilder, scale: Value, last: number, block: number | undefined): Value {
  if (block === undefined) return scale;
  const { shape } = g.typeOf(scale);
  const [rest, blocks] = [shape.slice(0, -1), Number(shape.at(-1))];
  const wide = g.expand([g.reshape([scale], { shape: [...shape, 1] })], { shape: [...shape, block] });
  const flat = g.reshape([wide], { shape: [...rest, blocks * block] });
  return blocks * block === last ? flat : g.narrow([flat], { axis: rest.length, start: 0, length: last });
}

const lastOf = (g: OpBuilder, x: Value): number => Number(g.typeOf(x).shape.at(-1) ?? 1);

export function decodeParts(g: OpBuilder, codes: Value, scale: Value, { format, block }: Fp8Attrs): Value {
  const dtype = plainDType(g.typeOf(scale).dtype, "fp8");
  const table = g.constant(
    hostTensor(
      dtype,
      [256],
      Float64Array.from({ length: 256 }, (_, code) => decoded(code, format)),
    ),
  );
  const numbers = g.gather([table, g.cast([codes], { to: "i32" })], { axis: 0 });
  return g.mul([numbers, spreadScales(g, scale, lastOf(g, codes), block)]);
}

export function encodeParts(g: OpBuilder, x: Value, scale: Value, { format, block }: Fp8Attrs): Value {
  const { mantissa, bias, most, none } = FORMATS[format];
  const value = g.div([x, spreadScales(g, scale, lastOf(g, x), block)]);
  const like = (number: number): Value => scalarLike(g, value, number);
  const wrong = g.is_nan([value]);
  const size = g.where([wrong, like(0), g.minimum([g.abs([value]), like(most)])]);
  const least = 1 - bias;
  // The logarithm may be off by one at a power of two: it is compared with that power itself.
  const guess = g.floor([g.mul([g.log([g.maximum([size, like(2 ** least)])]), like(Math.LOG2E)])]);
  const powers = Float64Array.from({ length: 2 * bias + 3 }, (_, i) => 2 ** (least - 1 + i));
  const table = g.constant(hostTensor(plainDType(g.typeOf(value).dtype, "fp8"), [powers.length], powers));
  const power = (exponent: Value): Value => {
    const place = g.cast([g.sub([exponent, like(least - 1)])], { to: "i32" });
    return g.gather([table, place], { axis: 0 });
  };
  const low = power(guess);
  const [down, up] = [g.compare([size, low], { op: "lt" }), g.compare([size, g.add([low, low])], { op: "ge" })];
  const moved = g.where([down, g.sub([guess, like(1)]), g.where([up, g.add([guess, like(1)]), guess])]);
  const exponent = g.maximum([moved, like(least)]);
  const steps = g.round([g.mul([g.div([size, power(exponent)]), like(2 ** mantissa)])]);
  const code = g.add([g.mul([g.add([exponent, like(bias - 1)]), like(2 ** mantissa)]), steps]);
  const signed = g.add([code, g.where([g.compare([value, like(0)], { op: "lt" }), like(0x80), like(0)])]);
  return g.cast([g.where([wrong, like(none), signed])], { to: "u8" });
}
