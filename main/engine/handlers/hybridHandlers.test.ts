import { expect, it } from "vitest";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { difference } from "../models/hybrid.ts";
import { hybridView } from "./hybridHandlers.ts";

const TARGET = { chip: "m4", os: "macos15", units: "all", profile: "auto", context: 512 } as const;

it("tells the range of an output of a million values", () => {
  const data = Float64Array.from({ length: 1_000_000 }, (_, i) => i - 499_999.5);
  const outputs = { y: hostTensor("f32", [1000, 1000], data) };
  const view = hybridView({} as Route, { outputs, timings: [], relativeRms: 0, truth: "simulated" }, TARGET);
  expect(view.outputs).toMatchObject([{ type: "f32[1000,1000]", min: -499_999.5, max: 499_999.5, mean: 0 }]);
  expect(view.outputs[0]!.values).toHaveLength(4096);
});

it.each([
  // √(1² + 1²) / √(3² + 4²)
  [[2, 5], [3, 4], Math.SQRT2 / 5],
  [[0, 0], [0, 0], 0],
  [[3, 4], [0, 0], 5],
])("%j differs from %j by %d", (made, wanted, expected) => {
  const tensors = (data: number[]) => ({ y: hostTensor("f32", [2], data) });
  expect(difference(tensors(made), tensors(wanted))).toBeCloseTo(expected, 12);
});
