// Every op's samples through the native engine, against the op's own reference: alone, as one native instruction.
// Tolerances follow from f32 arithmetic; half floats round each result once.
import { afterAll, describe, expect, test } from "vitest";
import type { CpuEngine } from "../backends/cpu/engine.ts";
import { CONTROL_KERNELS, CPU_KERNELS, PATTERN_KERNELS } from "../backends/cpu/kernels.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import { bindDim } from "../ir/dim.ts";
import { isPacked } from "../ir/dtype.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { supportOf } from "../compiler/support.ts";
import type { AnyOp, Sample } from "../ops/defineOp.ts";
import { evaluate } from "../ops/evaluate.ts";
import { OPS, opOf } from "../ops/index.ts";
import { inputName, outputName, sampleGraph, sampleRun, sampleTensors } from "../ops/sampleData.ts";
import { cpuDevice, cpuRules } from "../runtime/cpuDevice.ts";
import { expectClose, numbersOf } from "../testing/nativeTensors.ts";
import { loadAddon } from "./addon.ts";

const engines: readonly CpuEngine[] = loadAddon().isas.map((isa) => loadAddon({ isa }));

/** Runs one sample natively; a reason when this op or node has no native rule. */
async function runSample(engine: CpuEngine, op: AnyOp, sample: Sample<AttrRecord>): Promise<string | undefined> {
  const rule = cpuRules(op.name);
  if (typeof rule === "string") return rule;
  if (sample.inputs.some(({ type }) => isPacked(type.dtype))) return "packed operands are tested with files";
  const graph = sampleGraph(op, sample);
  const node = graph.nodes.find((candidate) => candidate.op === op.name)!;
  const support = supportOf(graph, node, "cpu");
  if (support.state !== "native") return support.reason;

  const tensors = sampleTensors(sample);
  const expected = evaluate(graph, sampleRun(sample, tensors)).outputs;
  const compiled = cpuDevice(engine, { threads: 2, limits: sample.bindings ?? {} }).compile(graph);
  const session = compiled.open();
  try {
    const result = await session.run({
      inputs: Object.fromEntries(tensors.map((tensor, i) => [inputName(i), tensorBytes(tensor)])),
      symbols: sample.bindings ?? {},
      fetch: node.outputs.map((_, i) => outputName(i)),
    });
    node.outputs.forEach((type, i) => {
      const want = expected[outputName(i)]!;
      const got = result.outputs[outputName(i)]!;
      expect(got.shape).toEqual(type.shape.map((dim) => bindDim(dim, sample.bindings ?? {})));
      expectClose(hostTensor(got.dtype, want.shape, numbersOf(got.dtype, got.bytes, engine)), want);
    });
  } finally {
    session.dispose();
    compiled.dispose();
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
    expect(
      kind !== "native" || reasons.length < op.samples.length || reasons.every((reason) => reason.startsWith("packed")),
    ).toBe(true);
  });
});

test("the addon has exactly the kernels that the plan writer knows", () => {
  const [engine] = engines;
  expect([...engine!.kernels].sort()).toEqual([...CPU_KERNELS, ...PATTERN_KERNELS, ...CONTROL_KERNELS].sort());
});

afterAll(() => {
  for (const engine of engines) expect(engine.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});
