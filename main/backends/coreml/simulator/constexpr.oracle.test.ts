// Packed constants as Core ML unpacks them when it loads a model: the simulator's against coremltools' own evaluation.
import { describe, expect, it } from "vitest";
import type { OracleTensor } from "../../../testing/oracle.ts";
import { milEval, oracleMissing, tensor } from "../../../testing/oracle.ts";
import { seededRandom } from "../../../testing/random.ts";
import { roundToHalf } from "../half.ts";
import type { MilDtype } from "../mil/types.ts";
import { CONSTEXPR } from "./constexpr.ts";
import { Arguments } from "./kernel.ts";
import { simTensor } from "./tensor.ts";

const MIL: Readonly<Record<string, MilDtype>> = { i8: "int8", u8: "uint8", f16: "fp16", f32: "fp32" };

type Inputs = Readonly<Record<string, OracleTensor>>;

const random = seededRandom(3);
const count = (shape: readonly number[]): number => shape.reduce((product, size) => product * size, 1);
const whole = (dtype: "i8" | "u8", shape: readonly number[], below = 256): OracleTensor =>
  tensor(
    dtype,
    shape,
    Array.from({ length: count(shape) }, () => random.integer(below) - (dtype === "i8" ? 128 : 0)),
  );
const halves = (dtype: "f16" | "f32", shape: readonly number[]): OracleTensor =>
  tensor(
    dtype,
    shape,
    Array.from({ length: count(shape) }, () => roundToHalf((random.integer(2001) - 1000) / 4096)),
  );

const shiftScale: readonly (readonly [title: string, inputs: () => Inputs])[] = [
  ["one scale for all", () => ({ data: whole("i8", [4, 64]), scale: halves("f16", [1, 1]) })],
  ["blocks of 32 along the row, f16", () => ({ data: whole("i8", [4, 64]), scale: halves("f16", [4, 2]) })],
  ["blocks of 32 along the row, f32", () => ({ data: whole("i8", [4, 64]), scale: halves("f32", [4, 2]) })],
  ["blocks along both axes", () => ({ data: whole("i8", [6, 8]), scale: halves("f16", [3, 4]) })],
  ["a whole offset", () => ({ data: whole("u8", [4, 64]), scale: halves("f16", [4, 2]), offset: whole("u8", [4, 2]) })],
  [
    "a float offset",
    () => ({ data: whole("u8", [4, 64]), scale: halves("f32", [4, 4]), offset: halves("f32", [4, 4]) }),
  ],
  ["three axes", () => ({ data: whole("i8", [2, 3, 32]), scale: halves("f16", [2, 1, 2]) })],
];

async function agree(op: string, inputs: Inputs): Promise<void> {
  const kernel = CONSTEXPR[op];
  if (kernel === undefined) throw new Error(`no kernel for ${op}`);
  const values = Object.entries(inputs).map(([name, { dtype, shape, data }]) => {
    const mil = MIL[dtype];
    if (mil === undefined) throw new Error(`no MIL type for ${dtype}`);
    return [name, [simTensor(mil, shape, Float64Array.from(data as ArrayLike<number>))]] as const;
  });
  const made = kernel(new Arguments(op, new Map(values), []));
  const [expected] = await milEval(op, inputs);
  const want = expected?.value;
  if (want === null || want === undefined || typeof want === "string") throw new Error("coremltools has no evaluation");
  expect(want.data.some((value) => value !== 0)).toBe(true);
  const got = "data" in made ? made : made[0];
  expect(got?.shape).toEqual(want.shape);
  expect(got?.dtype).toBe(expected?.dtype);
  // Both round once, to the type of the scale or of the table.
  expect(Array.from(got?.data ?? [])).toEqual(Array.from(want.data as ArrayLike<number>));
}

describe.skipIf(oracleMissing())(`packed constants against coremltools ${oracleMissing() ?? ""}`, () => {
  it.each(shiftScale)("shift and scale: %s", async (_, inputs) => {
    await agree("constexpr_blockwise_shift_scale", inputs());
  });

  it.each([
    ["one table", [1, 1, 256, 1]],
    ["a table for each pair of rows", [2, 1, 256, 1]],
    ["tables along both axes", [2, 4, 256, 1]],
  ] as const)("look-up: %s", async (_, shape) => {
    await agree("constexpr_lut_to_dense", { indices: whole("u8", [4, 16]), lut: halves("f16", shape) });
  });

  it("has every operator of its table here", () => {
    expect(Object.keys(CONSTEXPR)).toEqual(["constexpr_blockwise_shift_scale", "constexpr_lut_to_dense"]);
  });
});
