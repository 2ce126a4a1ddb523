// Packed constants as Core ML unpacks them when it loads a model: the simulator's against coremltools' own evaluation.
import { finish } from "../../../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { dequantize } from "../../../formats/quant/dequantize.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import { tensor as typeOf } from "../../../ir/type.ts";
import { opOf, opTable, typedBuilder } from "../../../ops/index.ts";
import type { OracleTensor } from "../../../testing/oracle.ts";
import { ggmlQuantize, milEval, oracleMissing, tensor } from "../../../testing/oracle.ts";
import { seededRandom } from "../../../testing/random.ts";
import { BlobReader, MemorySink, memorySource, writeBlobFrame } from "../blob.ts";
import { roundToHalf } from "../../../quant/half.ts";
import { rulesFrom } from "../hybrid/loweredGraph.ts";
import { lowerProgram } from "../lowering/lower.ts";
import type { MilDtype } from "../mil/types.ts";
import { MAPPED_TYPES } from "../weights/forms.ts";
import { writeWeights } from "../weights/write.ts";
import { Constants } from "./constants.ts";
import { CONSTEXPR } from "../mil/operators/constexpr.ts";
import { Arguments } from "./kernel.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { packageTensor } from "../package/packageTensor.ts";

const MIL: Readonly<Record<string, MilDtype>> = { i8: "int8", u8: "uint8", f16: "fp16", f32: "fp32" };
/** How the values of an operand travel to the oracle; NumPy has no 4-bit integers. */
const SENT: Readonly<Partial<Record<MilDtype, string>>> = {
  int8: "i8",
  uint8: "u8",
  int4: "i8",
  uint4: "u8",
  fp16: "f16",
  fp32: "f32",
};

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
  const values = Object.entries(inputs).map(([name, { dtype, shape, data }]) => {
    const mil = MIL[dtype];
    if (mil === undefined) throw new Error(`no MIL type for ${dtype}`);
    return [name, packageTensor(mil, shape, Float64Array.from(data as ArrayLike<number>))] as const;
  });
  await agreeOn(op, new Map(values));
}

/** `roundings`: by how many of fp32, of the largest value, the two may differ where one of them rounds more than once. */
async function agreeOn(op: string, values: ReadonlyMap<string, PackageTensor>, roundings = 0): Promise<void> {
  const kernel = CONSTEXPR[op]?.run;
  if (kernel === undefined) throw new Error(`no kernel for ${op}`);
  const made = kernel(new Arguments(op, new Map([...values].map(([name, value]) => [name, [value]])), []));
  const small = [...values].flatMap(([name, { dtype }]) =>
    dtype === "int4" || dtype === "uint4" ? [[name, dtype] as const] : [],
  );
  const inputs = Object.fromEntries(
    [...values].map(([name, { dtype, shape, data }]) => [name, tensor(SENT[dtype] ?? dtype, shape, data)]),
  );
  const [expected] = await milEval(op, inputs, Object.fromEntries(small));
  const want = expected?.value;
  if (want === null || want === undefined || typeof want === "string") throw new Error("coremltools has no evaluation");
  expect(want.data.some((value) => value !== 0)).toBe(true);
  const got = "data" in made ? made : made[0];
  expect(got?.shape).toEqual(want.shape);
  expect(got?.dtype).toBe(expected?.dtype);
  const [numbers, wanted] = [Array.from(got?.data ?? []), Array.from(want.data)];
  // Both round once, to the type of the scale or of the table.
  if (roundings === 0) expect(numbers).toEqual(wanted);
  else {
    const largest = Math.max(...wanted.map(Math.abs));
    // A number that is not there is NaN, and within no distance.
    for (const [i, number] of wanted.entries())
      expect(Math.abs((numbers[i] ?? NaN) - number)).toBeLessThanOrEqual(roundings * 2 ** -24 * largest);
  }
}

type Packed = (typeof MAPPED_TYPES)[number];
const [ROWS, COLUMNS] = [4, 512];

/** The operands of the one packed constant of a program with a weight of a type, as an export writes them. */
async function emitted(type: Packed, profile: "gpu" | "exact"): Promise<ReadonlyMap<string, PackageTensor>> {
  const b = new GraphBuilder(opTable, "one weight");
  const x = b.input("x", typeOf("f32", [1, COLUMNS]));
  const weight = b.param("w", typeOf(type, [ROWS, COLUMNS]), { file: "f", tensor: "w" });
  b.output("y", typedBuilder(b).linear([x, weight]));
  const { functions, plan } = finish(
    lowerProgram([{ name: "main", graph: b.finish() }], {
      rules: rulesFrom((op) => opOf(op)?.backends.coreml),
      profile,
      opset: "CoreML8",
    }),
  );
  const rows = Float32Array.from({ length: ROWS * COLUMNS }, () => (random.integer(2001) - 1000) / 20000);
  const bytes = await ggmlQuantize(type, rows, [ROWS, COLUMNS]);
  const read = (_name: string, offset: number, length: number): Promise<Uint8Array> =>
    Promise.resolve(bytes.slice(offset, offset + length));
  const sink = new MemorySink();
  await writeBlobFrame(plan.blob, sink);
  await writeWeights(plan, { read, dequantize }, sink);
  const constants = new Constants(await BlobReader.open(memorySource(sink.bytes)));
  const [op, ...more] = functions[0]!.mil.operations.filter((one) => one.type === "constexpr_blockwise_shift_scale");
  expect(more).toEqual([]);
  const operands = new Map<string, PackageTensor>();
  for (const [name, [binding]] of op!.inputs)
    if (binding?.kind === "value") operands.set(name, await constants.load(binding.value, false));
  return operands;
}

/** What each type is stored as: codes, scale, offset. A minimum per block (gpu) is added where the weight is read. */
const EMITTED: Readonly<Record<string, readonly [gpu: readonly MilDtype[], exact: readonly MilDtype[]]>> = {
  q4_0: [
    ["uint4", "fp16", "uint4"],
    ["uint4", "fp32", "uint4"],
  ],
  q4_1: [
    ["int4", "fp16"],
    ["uint4", "fp32", "fp32"],
  ],
  q4_k: [
    ["int4", "fp16"],
    ["uint4", "fp32", "fp32"],
  ],
  q5_0: [
    ["int8", "fp16"],
    ["int8", "fp32"],
  ],
  q5_1: [
    ["int8", "fp16"],
    ["uint8", "fp32", "fp32"],
  ],
  q5_k: [
    ["int8", "fp16"],
    ["uint8", "fp32", "fp32"],
  ],
  q6_k: [
    ["int8", "fp16"],
    ["int8", "fp32"],
  ],
  q8_0: [
    ["int8", "fp16"],
    ["int8", "fp32"],
  ],
};

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

  for (const type of MAPPED_TYPES)
    it.each(["gpu", "exact"] as const)(`${type} as an export writes it: %s`, async (profile) => {
      const operands = await emitted(type, profile);
      expect([...operands.keys()]).toEqual(["data", "scale", "offset"].slice(0, operands.size));
      const forms = EMITTED[type]?.[profile === "gpu" ? 0 : 1] ?? [];
      expect([...operands.values()].map(({ dtype }) => dtype)).toEqual(forms);
      const { dtype, data } = operands.get("data")!;
      // All 16 codes, those below zero too.
      if (dtype === "int4" || dtype === "uint4") {
        const codes = [...new Set(data)].sort((a, b) => a - b);
        expect(codes).toEqual(Array.from({ length: 16 }, (_, i) => (dtype === "int4" ? i - 8 : i)));
      }
      // coremltools takes a float offset away in fp32, the simulator in double precision.
      await agreeOn("constexpr_blockwise_shift_scale", operands, forms[2] === "fp32" ? 2 : 0);
    });

  it("has every operator of its table here", () => {
    expect(Object.keys(CONSTEXPR)).toEqual(["constexpr_blockwise_shift_scale", "constexpr_lut_to_dense"]);
  });
});
