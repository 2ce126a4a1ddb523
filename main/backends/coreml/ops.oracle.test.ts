// Every op × sample through Core ML: lowered, written to disk, validated by coremltools, read back and simulated, against the
// float64 reference. fp32 (exact weights) and fp16 (packed weights).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { AttrRecord } from "../../ir/attributes.ts";
import { isFloat, isPacked } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { specialize } from "../../ir/specialize.ts";
import { packageReader, packageWriter } from "../../node/packageDirectory.ts";
import type { AnyOp, Sample } from "../../ops/defineOp.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { expandOps } from "../../ops/expand.ts";
import { OPS, opOf, opTable } from "../../ops/index.ts";
import { inputName, sampleGraph, sampleRun, sampleTensors } from "../../ops/sampleData.ts";
import { ggmlQuantize, oracleMissing, validatePackage } from "../../testing/oracle.ts";
import type { MilValue } from "./emitter.ts";
import type { CoremlRule } from "./emitter.ts";
import { roundToHalf } from "./half.ts";
import { lowerProgram } from "./lowering/lower.ts";
import { openPackage, writePackage } from "./package.ts";
import { Simulator } from "./simulator/simulator.ts";
import { simTensor } from "./simulator/tensor.ts";
import type { WeightProfile } from "./weights/forms.ts";
import { MAPPED_TYPES } from "./weights/forms.ts";
import { readSmallParts, writeWeights } from "./weights/write.ts";

type AnySample = Sample<AttrRecord>;

const folder = mkdtempSync(join(tmpdir(), "rlx-ops-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const nativeRule = (op: string): CoremlRule<readonly MilValue[], AttrRecord> | undefined => {
  const entry = opOf(op)?.backends.coreml;
  return entry?.kind === "native" ? entry : undefined;
};

const legal = (graph: Graph): Graph =>
  expandOps(graph, "legalise", (op) => (op.backends.coreml.kind === "decompose" ? op.backends.coreml.via : undefined));

/** Why a node of the legal graph cannot run on Core ML; undefined when all can. */
function refusal(graph: Graph): string | undefined {
  for (const node of graph.nodes) {
    const entry = opOf(node.op)?.backends.coreml;
    if (entry === undefined) continue;
    if (entry.kind === "unsupported") return entry.reason;
    const inputs = node.inputs.map(
      (v) => graph.nodes[v.node]?.outputs[v.output] ?? { dtype: "f32" as const, shape: [] },
    );
    const verdict =
      entry.kind === "native"
        ? (entry.when?.({ inputs, outputs: node.outputs, attrs: node.attrs, regions: node.regions }) ?? true)
        : "not legal";
    if (verdict !== true) return verdict;
  }
  return undefined;
}

const legalGraph = (op: AnyOp, sample: AnySample): Graph =>
  legal(specialize(opTable, sampleGraph(op, sample), sample.bindings ?? {}));

let packages = 0;

async function runOn(profile: WeightProfile, op: AnyOp, sample: AnySample): Promise<void> {
  const graph = legalGraph(op, sample);
  // Packed operands become real blocks; the reference sees what they stand for.
  const blocks = new Map<string, Uint8Array>();
  const tensors = await Promise.all(
    sampleTensors(sample).map(async (t, i): Promise<HostTensor> => {
      const type = sample.inputs[i]?.type.dtype ?? "f32";
      if (!isPacked(type))
        return profile === "exact" || !isFloat(t.dtype) ? t : hostTensor(t.dtype, t.shape, t.data.map(roundToHalf));
      const bytes = await ggmlQuantize(type, Float32Array.from(t.data), [
        t.data.length / (t.shape.at(-1) ?? 1),
        t.shape.at(-1) ?? 1,
      ]);
      blocks.set(inputName(i), bytes);
      return hostTensor("f32", t.shape, Float64Array.from(dequantize(type, bytes, t.data.length)));
    }),
  );
  const source = {
    read: (name: string, at: number, length: number) =>
      Promise.resolve((blocks.get(name) ?? new Uint8Array(0)).slice(at, at + length)),
    dequantize,
  };
  const lower = (small: ReadonlyMap<string, Uint8Array>): ReturnType<typeof lowerProgram> =>
    lowerProgram([{ name: "main", graph }], { rules: nativeRule, profile, opset: "CoreML8", small });
  const lowered = lower(await readSmallParts(lower(new Map()).plan, source));
  const path = join(folder, `${packages++}.mlpackage`);
  const metadata = { shortDescription: op.name, author: "", license: "", version: "1", userDefined: {} };
  const contents = { program: lowered.program, opset: lowered.opset, defaultFunction: "main", metadata };
  await writePackage(
    await packageWriter(path),
    lowered.plan.blob,
    async (sink) => void (await writeWeights(lowered.plan, source, sink)),
    () => contents,
  );
  const findings = await validatePackage(path);
  expect(findings.rows.filter(([severity]) => severity !== "I")).toEqual([]);

  const reader = packageReader(path);
  const simulator = new Simulator(await openPackage(reader));
  const run = sampleRun(sample, tensors);
  const bindings = lowered.functions[0]?.bindings ?? [];
  const inputs = Object.fromEntries(
    bindings
      .filter((b) => b.kind === "input")
      .map((b) => [b.feature, simTensor(b.dtype, b.shape, run.inputs[b.name]?.data ?? [])]),
  );
  const made = await simulator.function().predict(inputs);
  await reader.close();
  const wanted = evaluate(sampleGraph(op, sample), run).outputs;
  for (const b of bindings.filter((f) => f.kind === "output")) {
    const want = wanted[b.name];
    const got = made[b.feature];
    expect(got?.data.length, b.name).toBe(want?.data.length);
    // The fp32 program keeps a half of the graph at full width; angles of thousands of radians lose digits in fp32.
    const single = want?.dtype === "f16" ? 5e-4 : op.name === "rope_table" ? angleError(tensors) : 1e-5;
    const tolerance = got?.dtype === "fp16" ? 2e-3 : got?.dtype === "fp32" ? single : 0;
    let [error, size] = [0, 0];
    want?.data.forEach((exact, i) => {
      const v = got?.dtype === "fp16" ? roundToHalf(exact) : exact;
      if (!Number.isFinite(v)) return expect(got?.data[i], b.name).toBe(v);
      error += ((got?.data[i] ?? NaN) - v) ** 2;
      size += v * v;
    });
    expect(Math.sqrt(error / (size || 1)), `${b.name} relative RMS`).toBeLessThanOrEqual(tolerance);
  }
}

/** Half a unit in the last place of the largest angle, whose fastest frequency is 1. */
const angleError = ([positions]: readonly HostTensor[]): number =>
  Math.max(1e-5, 2 ** -24 * Math.max(...(positions?.data ?? [])));

const missing = oracleMissing();

describe.skipIf(missing)(`ops on Core ML ${missing ?? ""}`, () => {
  const refused: string[] = [];
  for (const name of Object.keys(OPS)) {
    const op = opOf(name);
    if (op === undefined) continue;
    for (const sample of op.samples) {
      const reason = refusal(legalGraph(op, sample));
      if (reason !== undefined) refused.push(`${op.name}: ${sample.title}: ${reason}`);
      else
        for (const profile of ["exact", "gpu"] as const) {
          const mapped = sample.inputs.every(({ type }) => !isPacked(type.dtype) || MAPPED_TYPES.includes(type.dtype));
          it.skipIf(!mapped)(`${name} ${profile}: ${sample.title}`, () => runOn(profile, op, sample));
        }
    }
  }

  it("only what Core ML has no numbers or operator for is left to the host", () => {
    const platform = /complex|float64|Core ML has no|int32, which does not wrap|host|at most 5 dimensions/;
    expect(refused.filter((line) => !platform.test(line))).toEqual([]);
  });
});
