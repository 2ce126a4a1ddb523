/** Short operators and targets for tests of the predicted plan. */
import type { MilFunctionBuilder } from "../backends/coreml/mil/builder.ts";
import type { MilValue } from "../backends/coreml/mil/types.ts";
import { tensorType } from "../backends/coreml/mil/types.ts";
import type { PlanTarget } from "../backends/coreml/plan/target.ts";

export const PLAN_TARGET: PlanTarget = {
  chip: "m2",
  os: "macos15",
  units: "cpu-ane",
  profile: "ane",
  context: 1024,
  phase: "decode",
};

export const half = (b: MilFunctionBuilder, shape: readonly (number | null)[], name = "x"): MilValue =>
  b.input(name, tensorType("fp16", shape));
export const ints = (b: MilFunctionBuilder, shape: readonly number[], name = "i"): MilValue =>
  b.input(name, tensorType("int32", shape));
export const weight = (b: MilFunctionBuilder, out: number, inner: number, offset = 64): MilValue =>
  b.data({ type: tensorType("fp16", [out, inner]), data: { kind: "blob", offset } }, "w");
export const packed = (b: MilFunctionBuilder, out: number, inner: number, blocks: number): MilValue =>
  b.constexpr(
    "constexpr_blockwise_shift_scale",
    [
      ["data", { type: tensorType("int8", [out, inner]), data: { kind: "blob", offset: 64 } }],
      ["scale", { type: tensorType("fp16", [out, blocks]), data: { kind: "blob", offset: 128 } }],
    ],
    "w",
  );
export const linear = (b: MilFunctionBuilder, x: MilValue, w: MilValue): MilValue => b.op("linear", { x, weight: w });
