// Convolutions whose weights lie in a file: constants of the package, so dilations stay with the operator; written, validated by
// coremltools, read back and simulated, against the float64 reference. (Computed weights are in the samples of the ops.)
import { finish } from "../../ir/steps.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { applyPrecision } from "../../compiler/precision.ts";
import { legalise } from "../../compiler/legalise.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import { packageReader } from "../../node/files/packageDirectory.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { opOf, opTable, typedBuilder } from "../../ops/index.ts";
import { oracleMissing } from "../../testing/oracle.ts";
import { writeValidPackage } from "../../testing/validPackage.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import { roundToHalf } from "../../quant/half.ts";
import { rulesFrom } from "./hybrid/loweredGraph.ts";
import { lowerProgram } from "./lowering/lower.ts";
import { openPackage } from "./package.ts";
import { Simulator } from "./simulator/simulator.ts";
import { packageTensor } from "./package/packageTensor.ts";
import { readSmallParts } from "./weights/write.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-windows-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rules = rulesFrom((op) => opOf(op)?.backends.coreml);
const numbers = (count: number, salt: number): Float64Array =>
  Float64Array.from({ length: count }, (_, i) => roundToHalf(Math.sin(1 + 1.7 * i + salt)));
const weightOf = (name: string, shape: readonly number[]): Float64Array => numbers(sizeOf(shape), name.length);

/** A strided and a dilated convolution, one filter per channel, a transpose, a pool: [1, 3, 12, 10] → [1, 4, …]. */
function images(): Graph {
  const b = new GraphBuilder(opTable, "images");
  const g = typedBuilder(b);
  const weight = (name: string, shape: readonly number[]): Value =>
    b.param(name, tensor("f32", shape), { file: "weights", tensor: name });
  const plain = { strides: [1, 1], padding: [1, 1], dilations: [1, 1], groups: 1 };
  let x = b.input("x", tensor("f32", [1, 3, 12, 10]));
  x = g.conv([x, weight("w", [6, 3, 3, 3])], { ...plain, strides: [2, 1] });
  x = g.conv([x, weight("wd", [6, 1, 3, 2])], { ...plain, dilations: [2, 3], padding: [2, 2], groups: 6 });
  x = g.relu([x]);
  x = g.conv_transpose([x, weight("wtt", [6, 2, 3, 3])], {
    ...plain,
    strides: [2, 2],
    groups: 2,
    outputPadding: [1, 0],
  });
  b.output("y", g.pool([x], { kind: "mean", kernel: [2, 2], strides: [2, 2], padding: [0, 1] }));
  return b.finish();
}

const bytesOf = (values: Float64Array): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);

const missing = oracleMissing();
describe.skipIf(missing)(`convolutions of a model's own weights ${missing ?? ""}`, () => {
  const shapes: Readonly<Record<string, readonly number[]>> = { w: [6, 3, 3, 3], wd: [6, 1, 3, 2], wtt: [6, 2, 3, 3] };
  const param = (name: string) => hostTensor("f32", shapes[name]!, weightOf(name, shapes[name]!));
  const x = hostTensor("f32", [1, 3, 12, 10], numbers(360, 5));
  const want = finish(evaluate(images(), { inputs: { x }, param })).outputs["y"]!;

  it.each(["exact", "gpu", "ane"] as const)("%s profile", async (profile) => {
    const { graph, blocked } = finish(legalise(images(), "coreml"));
    expect([...blocked.values()]).toEqual([]);
    const source = {
      read: (name: string, at: number, length: number) =>
        Promise.resolve(bytesOf(weightOf(name, shapes[name]!)).slice(at, at + length)),
      dequantize,
    };
    const lower = (small: ReadonlyMap<string, Uint8Array>) =>
      finish(lowerProgram([{ name: "main", graph }], { rules, profile, opset: "CoreML8", small }));
    const lowered = lower(await readSmallParts(lower(new Map()).plan, source));
    const types = lowered.program.functions[0]!.operations.map((op) => op.type);
    expect(types.filter((type) => type === "conv" || type === "conv_transpose")).toHaveLength(3);
    expect(types).not.toContain("pad");
    const path = join(folder, `${profile}.mlpackage`);
    await writeValidPackage(path, lowered, source);
    const reader = packageReader(path);
    const simulator = new Simulator(await openPackage(reader));
    const feature = (kind: string) => lowered.functions[0]!.bindings.find((binding) => binding.kind === kind)!;
    const { feature: input, dtype, shape } = feature("input");
    const made = (await simulator.function().predict({ [input]: packageTensor(dtype, shape, x.data) }))[
      feature("output").feature
    ]!;
    await reader.close();
    expect(made.shape).toEqual(want.shape);
    const [error, size] = want.data.reduce(([e, s], v, i) => [e + (made.data[i]! - v) ** 2, s + v * v], [0, 0]);
    expect(Math.sqrt(error / size)).toBeLessThanOrEqual(profile === "exact" ? 1e-5 : 2e-3);
  });

  it("stays the same graph in half precision: weights keep their type", () => {
    const half = finish(applyPrecision(images(), "f16"));
    const convolutions = half.nodes.filter((node) => node.op === "conv" || node.op === "conv_transpose");
    expect(convolutions.map((node) => node.outputs[0]!.dtype)).toEqual(["f16", "f16", "f16"]);
    const y = finish(evaluate(half, { inputs: { x }, param })).outputs["y"]!;
    y.data.forEach((v, i) => expect(Math.abs(v - want.data[i]!)).toBeLessThan(1e-2 * (1 + Math.abs(want.data[i]!))));
  });
});
