// What an operator costs on each device, counted by hand: arithmetic, memory as each device holds it, launches and ways.
import { describe, expect, it } from "vitest";
import { finish } from "../../../ir/steps.ts";
import { MilFunctionBuilder } from "../mil/builder.ts";
import { NameTable } from "../mil/names.ts";
import type { MilDtype, MilFunction, MilValue } from "../mil/types.ts";
import { tensorType } from "../mil/types.ts";
import { functionFacts } from "./facts.ts";
import type { PlacementProblem } from "./placement.ts";
import { placementProblem, predictPlan } from "./predict.ts";
import type { PlanTarget } from "./target.ts";
import { CHIPS } from "./target.ts";

const TARGET: PlanTarget = {
  chip: "m2",
  os: "macos15",
  units: "all",
  profile: "ane",
  context: 1,
  phase: "decode",
};

function functionOf(build: (b: MilFunctionBuilder) => void): MilFunction {
  const b = new MilFunctionBuilder("main", "CoreML8", new NameTable());
  build(b);
  return b.finish();
}
const problemOf = (build: (b: MilFunctionBuilder) => void, target: Partial<PlanTarget> = {}): PlacementProblem =>
  placementProblem(finish(functionFacts(functionOf(build))), { ...TARGET, ...target });
/** Milliseconds on the Neural Engine, the GPU and the CPU. */
const costsOf = (build: (b: MilFunctionBuilder) => void, target: Partial<PlanTarget> = {}): readonly number[] => [
  ...problemOf(build, target).costs,
];
const input = (b: MilFunctionBuilder, shape: readonly number[], dtype: MilDtype = "fp16"): MilValue =>
  b.input("x", tensorType(dtype, shape));
const blob = (dtype: MilDtype, shape: readonly number[]) =>
  ({ type: tensorType(dtype, shape), data: { kind: "blob", offset: 64 } }) as const;
const expectCosts = (made: readonly number[], wanted: readonly number[]): void => {
  expect(made).toHaveLength(wanted.length);
  for (const [i, cost] of wanted.entries())
    if (cost === Infinity) expect(made[i]).toBe(Infinity);
    else expect((made[i] ?? NaN) / (cost === 0 ? 1 : cost)).toBeCloseTo(cost === 0 ? 0 : 1, 9);
};

describe("costs", () => {
  it("pads the last axis to 64 bytes on the Neural Engine, and nowhere else", () => {
    // In and out of exp: 2 · rows · columns halves, at 50, 40 and 10 GB/s.
    const exp = (rows: number, columns: number) => costsOf((b) => b.op("exp", { x: input(b, [rows, columns]) }));
    expectCosts(exp(64, 1), [(256 * 32) / 50e6, 256 / 40e6, 256 / 10e6]);
    expectCosts(exp(64, 32), [(256 * 32) / 50e6, (256 * 32) / 40e6, (256 * 32) / 10e6]);
    // 33 halves take two lanes of 32.
    expectCosts(exp(64, 33), [(256 * 64) / 50e6, (256 * 33) / 40e6, (256 * 33) / 10e6]);
  });

  it("counts packed weights as fp16 on the Neural Engine, as stored on GPU and CPU", () => {
    const packed = costsOf((b) => {
      const operands = [
        ["data", blob("int8", [64, 64])],
        ["scale", blob("fp16", [64, 1])],
      ] as const;
      const weight = b.constexpr("constexpr_blockwise_shift_scale", operands, "w");
      b.op("linear", { x: input(b, [1, 64]), weight });
    });
    // 128 bytes go in and out; 64 · 64 codes of one byte and 64 scales of two.
    const stored = 256 + 64 * 64 + 64 * 2;
    expectCosts(packed, [(256 + 64 * 64 * 2) / 50e6, stored / 40e6, stored / 10e6]);
    const dense = costsOf((b) => b.op("linear", { x: input(b, [1, 64]), weight: b.data(blob("fp16", [64, 64]), "w") }));
    expectCosts(dense, [(256 + 64 * 64 * 2) / 50e6, (256 + 64 * 64 * 2) / 40e6, (256 + 64 * 64 * 2) / 10e6]);
  });

  it("counts arithmetic where it takes longer than the memory", () => {
    const made = costsOf((b) =>
      b.op("linear", { x: input(b, [512, 2048]), weight: b.data(blob("fp16", [2048, 2048]), "w") }),
    );
    const flops = 2 * 512 * 2048 * 2048;
    expectCosts(made, [flops / 800e6, flops / 120e6, flops / 20e6]);
  });

  it("gives what is free no cost, and what a target does not allow none that could be chosen", () => {
    const folded = (units: PlanTarget["units"]) =>
      costsOf((b) => b.op("reshape", { x: input(b, [8, 32]), shape: [32, 8] }), { units });
    expectCosts(folded("all"), [0, 0, 0]);
    expectCosts(folded("cpu-gpu"), [Infinity, 0, 0]);
    expectCosts(folded("cpu-ane"), [0, Infinity, 0]);
    expectCosts(folded("cpu"), [Infinity, Infinity, 0]);
    const [ane, gpu] = costsOf((b) => b.op("exp", { x: input(b, [64, 32], "fp32") }));
    expect(ane).toBe(Infinity);
    expect(gpu).toBeLessThan(1);
  });

  it("takes the launch of the Neural Engine from the chip, those of GPU and CPU are one", () => {
    const launches = { m1: 0.23, m2: 0.2, m3: 0.17, m4: 0.14, m5: 0.11 };
    for (const { id } of CHIPS) {
      const { launch, transfer, bytesPerMs } = problemOf((b) => b.op("exp", { x: input(b, [64, 32]) }), { chip: id });
      expect(launch).toEqual([launches[id], 0.1, 0.1]);
      expect(transfer).toEqual([0.09, 0.23, 0.23]);
      expect(bytesPerMs).toBe(10e6);
    }
  });

  it("adds a launch for each run and a way for each change of device", () => {
    const flops = 2 * 512 * 2048 * 2048;
    // A gather by index on the CPU, then a product that is worth the way to the Neural Engine.
    const f = functionOf((b) => {
      const indices = b.input("i", tensorType("int32", [512]));
      const x = b.op("gather", { x: b.data(blob("fp16", [4096, 2048]), "table"), indices, axis: 0 });
      b.op("linear", { x, weight: b.data(blob("fp16", [2048, 2048]), "w") });
    });
    const plan = predictPlan(f, { ...TARGET, units: "cpu-ane" });
    expect(plan.ops.map(({ preferred }) => preferred)).toEqual(["cpu", "ane"]);
    // Indices and rows, and as many bytes of the table as both are.
    const gathered = 2 * (512 * 4 + 512 * 2048 * 2);
    const crossing = 512 * 2048 * 2;
    expect(plan.ops[0]?.costMs).toBeCloseTo(gathered / 10e6, 12);
    expect(plan.costMs).toBeCloseTo(0.1 + gathered / 10e6 + 0.2 + 0.09 + crossing / 10e6 + flops / 800e6, 9);
  });
});
