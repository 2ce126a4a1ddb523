/**
 * Floats of eight and of four bits, as codes in bytes: a sign, then bits of exponent and of fraction. Value of a code with exponent
 * field E and fraction F of m bits: (1 + F / 2^m) · 2^(E − bias), and F / 2^m · 2^(1 − bias) where E is 0 (OCP 8-bit floats, OCP
 * microscaling formats). Rounding is to the nearest, ties to even; what is larger than the largest number becomes it.
 */
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { scalarLike } from "./constants.ts";
import { roundHalfEven } from "./host.ts";

export const MINIFLOATS = ["e4m3", "e5m2", "e2m1"] as const;
export type Minifloat = (typeof MINIFLOATS)[number];

export interface MinifloatAttrs {
  readonly format: Minifloat;
}
export const minifloatSchema = { format: attr.oneOf(MINIFLOATS) } as const;

interface Layout {
  readonly fraction: number;
  readonly bias: number;
  readonly most: number;
  /** The bit of the sign; codes have no bits above it. */
  readonly sign: number;
  /** What stands for no number: 0 where the format has nothing. */
  readonly nan: number;
}
export const LAYOUTS: Readonly<Record<Minifloat, Layout>> = {
  e4m3: { fraction: 3, bias: 7, most: 448, sign: 0x80, nan: 0x7f },
  e5m2: { fraction: 2, bias: 15, most: 57_344, sign: 0x80, nan: 0x7e },
  e2m1: { fraction: 1, bias: 1, most: 6, sign: 0x08, nan: 0 },
};

/** The exponents of numbers, from that of the smallest normal one on. */
const exponents = ({ bias, most }: Layout): readonly number[] =>
  Array.from({ length: Math.floor(Math.log2(most)) + bias }, (_, i) => i + 1 - bias);

/** What a code stands for. */
export function decoded(code: number, format: Minifloat): number {
  const { fraction, bias, most, sign, nan } = LAYOUTS[format];
  const rest = code & (sign - 1);
  const [field, part] = [rest >> fraction, (rest & (2 ** fraction - 1)) / 2 ** fraction];
  const value = field === 0 ? part * 2 ** (1 - bias) : (1 + part) * 2 ** (field - bias);
  const isWhole = value <= most;
  // e5m2 has infinities below its numbers that are none; e4m3 has one code that is none.
  const magnitude = isWhole ? value : nan !== 0 && rest >= nan - (format === "e5m2" ? 1 : 0) ? NaN : Infinity;
  return (code & sign) === 0 ? magnitude : -magnitude;
}

/** The nearest code. */
export function encoded(value: number, format: Minifloat): number {
  const layout = LAYOUTS[format];
  if (Number.isNaN(value)) return layout.nan;
  const magnitude = Math.min(Math.abs(value), layout.most);
  const [lowest = 0] = exponents(layout);
  const exponent = exponents(layout).findLast((each) => 2 ** each <= magnitude) ?? lowest;
  const steps = roundHalfEven(magnitude / 2 ** (exponent - layout.fraction));
  const code = (exponent - lowest) * 2 ** layout.fraction + steps;
  return value < 0 || Object.is(value, -0) ? code + layout.sign : code;
}

/** A row of a table of all 256 bytes. */
export function decodeParts(g: OpBuilder, codes: Value, format: Minifloat): Value {
  const table = hostTensor(
    "f32",
    [256],
    Array.from({ length: 256 }, (_, code) => decoded(code, format)),
  );
  return g.gather([g.constant(table), g.cast([codes], { to: "i32" })], { axis: 0 });
}

/** In f32, exactly: an exponent from a logarithm, put right by comparing powers of two, and a division by a power of two. */
export function encodeParts(g: OpBuilder, x: Value, format: Minifloat): Value {
  const layout = LAYOUTS[format];
  const [lowest = 0] = exponents(layout);
  const count = exponents(layout).length;
  const f32 = g.cast([x], { to: "f32" });
  const [isNone, zero] = [g.is_nan([f32]), scalarLike(g, f32, 0)];
  const magnitude = g.clamp([g.abs([g.where([isNone, zero, f32])])], { low: 0, high: layout.most });
  const powers = g.constant(
    hostTensor(
      "f32",
      [count],
      exponents(layout).map((each) => 2 ** each),
    ),
  );
  const powerOf = (place: Value): Value => g.gather([powers, g.cast([place], { to: "i32" })], { axis: 0 });
  const within = (place: Value): Value => g.clamp([place], { low: 0, high: count - 1 });
  const one = (condition: Value): Value => g.cast([condition], { to: "f32" });

  const logarithm = g.mul([
    g.log([g.maximum([magnitude, scalarLike(g, f32, 2 ** lowest)])]),
    scalarLike(g, f32, Math.LOG2E),
  ]);
  const guess = within(g.sub([g.floor([logarithm]), scalarLike(g, f32, lowest)]));
  const power = powerOf(guess);
  const below = one(g.compare([power, magnitude], { op: "gt" }));
  const above = one(g.compare([g.add([power, power]), magnitude], { op: "le" }));
  const place = within(g.add([g.sub([guess, below]), above]));
  const step = g.mul([powerOf(place), scalarLike(g, f32, 2 ** -layout.fraction)]);
  const steps = g.round([g.div([magnitude, step])]);
  const code = g.add([g.mul([place, scalarLike(g, f32, 2 ** layout.fraction)]), steps]);

  const isNegative = g.logical_or([
    g.compare([f32, zero], { op: "lt" }),
    g.compare([g.reciprocal([f32]), zero], { op: "lt" }),
  ]);
  const signed = g.add([code, g.mul([one(isNegative), scalarLike(g, f32, layout.sign)])]);
  const whole = g.where([isNone, scalarLike(g, f32, layout.nan), signed]);
  return g.cast([g.cast([whole], { to: "i32" })], { to: "u8" });
}
