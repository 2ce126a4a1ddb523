// Every op's samples through the native engine, against the op's own reference: alone, as one native instruction.
// Tolerances follow from f32 arithmetic; half floats round each result once.
import { afterAll, describe, expect, test } from "vitest";
import type { CpuEngine } from "../backends/cpu/engine.ts";
import { CONTROL_KERNELS, CPU_KERNELS, PATTERN_KERNELS } from "../backends/cpu/kernels.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import { bindDim } from "../ir/dim.ts";
import type { PackedType } from "../ir/dtype.ts";
import { blockLayout, isPacked } from "../ir/dtype.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import type { TensorType } from "../ir/type.ts";
import { staticShape } from "../ir/type.ts";
import { dequantize } from "../formats/quant/dequantize.ts";
import { supportOf } from "../compiler/support.ts";
import type { AnyOp, Sample, SampleInput } from "../ops/defineOp.ts";
import { evaluate } from "../ops/evaluate.ts";
import { WEIGHTS } from "../ops/families/cpu.ts";
import { integers, normal, scalarInput, values, weight } from "../ops/families/samples.ts";
import { OPS, opOf } from "../ops/index.ts";
import { outputName, sampleRun, sampleTensors } from "../ops/sampleData.ts";
import { cpuDevice, cpuRules } from "../runtime/cpuDevice.ts";
import { expectClose, numbersOf } from "../testing/nativeTensors.ts";
import { packedBytes, storedGraph, weightFile } from "../testing/weightFile.ts";
import { loadAddon } from "./addon.ts";

/** What is multiplied with blocks of 256 is rounded to 8 bits first. */
const ROUNDED = 2 ** -7;

const engines: readonly CpuEngine[] = loadAddon().isas.map((isa) => loadAddon({ isa }));

/** Runs one sample natively; a reason when this op or node has no native rule. */
async function runSample(engine: CpuEngine, op: AnyOp, sample: Sample<AttrRecord>): Promise<string | undefined> {
  const rule = cpuRules(op.name);
  if (typeof rule === "string") return rule;
  const graph = storedGraph(op, sample);
  const node = graph.nodes.find((candidate) => candidate.op === op.name)!;
  const support = supportOf(graph, node, "cpu");
  if (support.state !== "native") return support.reason;

  const tensors = sampleTensors(sample).map((plain, i) => {
    const { dtype } = sample.inputs[i]!.type;
    if (!isPacked(dtype)) return plain;
    const count = sizeOf(plain.shape);
    return hostTensor("f32", plain.shape, dequantize(dtype, packedBytes(dtype, count, i + 1), count));
  });
  const hasPacked = sample.inputs.some(({ type }) => isPacked(type.dtype));
  // What only unpacks has nothing to round, and a cast has one right result.
  const isExact = op.name === "cast" || (hasPacked && (op.name === "dequantize" || op.name === "gather"));
  const run = sampleRun(sample, tensors);
  const expected = evaluate(graph, run).outputs;
  const bytesOf = (name: string, type: TensorType): Uint8Array =>
    packedBytes(type.dtype as PackedType, sizeOf(staticShape(type, "weight")), Number(name.slice(1)) + 1);
  const weights = hasPacked ? weightFile(graph, bytesOf) : undefined;
  const files = weights === undefined ? {} : { weights };
  const compiled = cpuDevice(engine, { threads: 2, limits: sample.bindings ?? {}, ...files }).compile(graph);
  const session = compiled.open();
  try {
    const result = await session.run({
      inputs: Object.fromEntries(Object.entries(run.inputs).map(([name, tensor]) => [name, tensorBytes(tensor)])),
      symbols: sample.bindings ?? {},
      fetch: node.outputs.map((_, i) => outputName(i)),
    });
    node.outputs.forEach((type, i) => {
      const want = expected[outputName(i)]!;
      const got = result.outputs[outputName(i)]!;
      expect(got.shape).toEqual(type.shape.map((dim) => bindDim(dim, sample.bindings ?? {})));
      const value = hostTensor(got.dtype, want.shape, numbersOf(got.dtype, got.bytes, engine));
      if (isExact) expect(value).toEqual(want);
      else expectClose(value, want, "", hasPacked ? ROUNDED : 0);
    });
  } finally {
    session.dispose();
    compiled.dispose();
    weights?.remove();
  }
  return undefined;
}

describe.each(engines.map((engine) => [engine.isa, engine] as const))("ops on %s", (_isa, engine) => {
  test.each(Object.keys(OPS))("%s", async (name) => {
    const op = opOf(name)!;
    const reasons: string[] = [];
    for (const sample of op.samples) {
      const reason = await runSample(engine, op, sample).catch((error: unknown) => {
        throw new Error(`${name}, ${sample.title}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        });
      });
      if (reason !== undefined) reasons.push(reason);
    }
    // An op with a native rule must have run at least once.
    const { kind } = op.backends.cpu;
    expect(kind !== "native" || reasons.length < op.samples.length, reasons.join("; ")).toBe(true);
  });

  test.each(WEIGHTS.filter(isPacked))("dequantize and gather give the exact values of %s", async (dtype) => {
    const columns = 3 * blockLayout(dtype).elements;
    const rows = weight(1, [5, columns], dtype);
    expect(await runSample(engine, opOf("dequantize")!, { title: dtype, inputs: [rows], attrs: {} })).toBeUndefined();
    const inputs = [rows, values([4, 0, 4], [3], "i32")];
    expect(await runSample(engine, opOf("gather")!, { title: dtype, inputs, attrs: { axis: 0 } })).toBeUndefined();
  });

  // Few tokens and many go different ways, and none of these sizes is whole vectors.
  test.each([1, 3, 20, 36, 65, 100])("attention over caches takes heads of %i", async (size) => {
    for (const [tokens, past] of [
      [1, 600],
      [3, 70],
      [70, 30],
    ] as const)
      for (const cache of ["f32", "f16"] as const) {
        const row = (seed: number): SampleInput => integers(seed, [2, past + tokens + 3, size], -2, 2, cache);
        const title = `${tokens} tokens, ${cache}`;
        const inputs = [normal(1, [tokens, 4, size]), row(2), row(3), scalarInput(past)];
        const sample = { title, inputs, attrs: { scale: 0.3 } };
        expect(await runSample(engine, opOf("attention_cached")!, sample)).toBeUndefined();
      }
  });
});

test("the addon has exactly the kernels that the plan writer knows", () => {
  const [engine] = engines;
  expect([...engine!.kernels].sort()).toEqual([...CPU_KERNELS, ...PATTERN_KERNELS, ...CONTROL_KERNELS].sort());
});

afterAll(() => {
  for (const engine of engines) expect(engine.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});
