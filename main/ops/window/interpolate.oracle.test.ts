/** Resampled images against MLX's own layer, which was written by others and takes the same coefficients. */
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../../ir/builder.ts";
import { finish } from "../../ir/steps.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { parseType } from "../../ir/type.ts";
import { mlxEval, oracleMissing, tensor } from "../../testing/oracle.ts";
import { evaluate } from "../evaluate.ts";
import { opBuilder, opTable } from "../index.ts";
import type { Interpolation } from "../families/resample.ts";

const missing = oracleMissing();
const data = Float64Array.from({ length: 15 }, (_, i) => Math.fround(Math.sin(3.7 * i)));

describe.skipIf(missing)(`interpolate against MLX ${missing ?? ""}`, () => {
  it.each<readonly [Interpolation, boolean]>([
    ["linear", false],
    ["linear", true],
    ["cubic", false],
    ["cubic", true],
  ])("%s, corners aligned: %s", async (mode, corners) => {
    const graph = new GraphBuilder(opTable, "larger");
    const x = graph.input("x", parseType("f32[1,1,3,5]"));
    const positions = corners ? "align_corners" : "half_pixel";
    graph.output("y", opBuilder(graph).interpolate([x], { mode, positions, sizes: [6, 10] }));
    const inputs = { x: hostTensor("f32", [1, 1, 3, 5], data) };
    const made = finish(evaluate(graph.finish(), { inputs })).outputs["y"]!;
    const layer = `nn.Upsample(scale_factor=2.0, mode="${mode}", align_corners=${corners ? "True" : "False"})`;
    const [wanted] = await mlxEval(`${layer}(x)`, { x: tensor("f32", [1, 3, 5, 1], data) });
    expect(wanted!.data).toHaveLength(60);
    made.data.forEach((value, i) => expect(Math.abs(value - wanted!.data[i]!)).toBeLessThan(1e-5));
  });
});
