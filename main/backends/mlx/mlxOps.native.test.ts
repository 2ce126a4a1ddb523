// Every op's samples and 300 random graphs through MLX, in all three modes, against the reference evaluator. Tolerances follow
// from f32 arithmetic; half floats round each result once. Packed operands are random blocks; their exact values come from the
// CPU engine's dequantisation, which is ggml's bit for bit.
import { finish } from "../../ir/steps.ts";
import { afterAll, describe, expect, test } from "vitest";
import { MLX_MODES } from "./engine.ts";
import { mlxWeightForm } from "./weightForms.ts";
import type { MlxMode } from "./engine.ts";
import { MLX_FUNCTIONS } from "./functions.ts";
import { compileNow } from "../../compiler/compile.ts";
import type { AttrRecord } from "../../ir/attributes.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { PackedType } from "../../ir/dtype.ts";
import { isPacked } from "../../ir/dtype.ts";
import { tensor } from "../../ir/type.ts";
import type { Graph } from "../../ir/graph.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import type { AnyOp, Sample, SampleInput } from "../../ops/defineOp.ts";
import type { EvaluationInput } from "../../ops/evaluate.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { values } from "../../ops/families/samples.ts";
import { OPS, opOf } from "../../ops/index.ts";
import { outputName, sampleGraph, sampleRun, sampleTensors } from "../../ops/sampleData.ts";
import { mlxDevice } from "../../runtime/devices/mlx.ts";
import { randomCase } from "../../testing/randomGraphs.ts";
import type { WeightFile } from "../../testing/weightFile.ts";
import { expectClose, numbersOf } from "../../testing/nativeTensors.ts";
import { packedBytes, storedGraph, weightFile } from "../../testing/weightFile.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { findMlxEngine } from "../../node/native/mlxAddon.ts";
import { reasonNotFound } from "../../testing/skipping.ts";

const found = findMlxEngine();
const missing = reasonNotFound(found);
const cpu = loadAddon();

/** Weights without an affine form are held as f16: some packed types, and all that are no matrices. */
const isHalved = (graph: Graph): boolean =>
  graph.nodes.some(
    ({ op, outputs: [type] }) =>
      op === "param" && type !== undefined && mlxWeightForm(type.dtype, type.shape.length).kind === "f16",
  );

/** MLX computes the functions of float64 in float32, too. */
const IN_F32 = 1e-5;

/** Runs a graph on MLX and compares all outputs; twice, because a trace that is replayed must give the same. */
async function compare(graph: Graph, mode: MlxMode, given: EvaluationInput, weights: WeightFile): Promise<void> {
  if (typeof found === "string") throw new Error(found);
  const expected = finish(evaluate(graph, given)).outputs;
  const bindings: Bindings = given.bindings ?? {};
  const compiled = mlxDevice(found, { mode, weights, limits: bindings }).compile(graph);
  const session = compiled.open({ symbols: bindings });
  try {
    const names = graph.outputs.map((output) => output.name);
    for (const time of ["first", "second"]) {
      const result = await session.run({
        inputs: Object.fromEntries(Object.entries(given.inputs).map(([name, value]) => [name, tensorBytes(value)])),
        symbols: bindings,
        fetch: names,
      });
      for (const name of names) {
        const { dtype, shape, bytes } = result.outputs[name]!;
        const value = hostTensor(dtype, shape, numbersOf(dtype, bytes, cpu));
        expectClose(value, expected[name]!, `${time} run, ${name},`, isHalved(graph) ? 2 ** -10 : IN_F32);
      }
    }
  } finally {
    session.dispose();
    compiled.dispose();
  }
}

/** One sample; the reason when MLX cannot run it. */
async function runSample(op: AnyOp, sample: Sample<AttrRecord>, mode: MlxMode): Promise<string | undefined> {
  const graph = storedGraph(op, sample);
  const { graph: legal, blocked } = compileNow(graph, { backend: "mlx", passes: [], blocked: "keep", verify: true });
  const [reason] = blocked.values();
  if (reason !== undefined) return reason;
  const tensors = sampleTensors(sample).map((tensor, i) => {
    const dtype = sample.inputs[i]!.type.dtype;
    if (!isPacked(dtype)) return tensor;
    const exact = new Float32Array(sizeOf(tensor.shape));
    cpu.dequantize(dtype, packedBytes(dtype, exact.length, i + 1), exact);
    return hostTensor("f32", tensor.shape, exact);
  });
  const weights = weightFile(legal, (name, type) =>
    packedBytes(
      type.dtype as PackedType,
      type.shape.reduce<number>((n, d) => n * Number(d), 1),
      Number(name.slice(1)) + 1,
    ),
  );
  try {
    await compare(legal, mode, sampleRun(sample, tensors), weights);
  } finally {
    weights.remove();
  }
  return undefined;
}

describe.skipIf(missing !== undefined).each(MLX_MODES)(`ops, %s ${missing ?? ""}`, (mode) => {
  test.each(Object.keys(OPS))("%s", async (name) => {
    const op = opOf(name)!;
    const reasons: string[] = [];
    for (const sample of op.samples) {
      const reason = await runSample(op, sample, mode).catch((error: unknown) => {
        throw new Error(`${name}, ${sample.title}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        });
      });
      if (reason !== undefined) reasons.push(reason);
    }
    // Everything but what says that it cannot has run; what has an entry is refused for its element type only.
    if (op.backends.mlx.kind === "unsupported") expect(reasons).toHaveLength(op.samples.length);
    else {
      expect(
        reasons.filter(
          (reason) => !/MLX.* (float32|floats|numbers|int32)\b.* (f64|i8|u8|i16|u32|i32|i64)$/.test(reason),
        ),
      ).toEqual([]);
      expect(reasons.length).toBeLessThan(op.samples.length);
    }
  });
});

describe.skipIf(missing !== undefined).each(MLX_MODES)(`edges, %s ${missing ?? ""}`, (mode) => {
  test("floats to long whole numbers saturate at the ends of the type", async () => {
    const sample: Sample<AttrRecord> = {
      title: "saturates",
      // The reference has no 2^63 - 1: the upper end is in main/engine/handlers/text.native.test.ts.
      inputs: [values([-1e20, 9.2e18, -9.2e18, 300.7, -Infinity, NaN])],
      attrs: { to: "i64" },
    };
    expect(await runSample(opOf("cast")!, sample, mode)).toBeUndefined();
  });

  test.each(["selective_scan", "ssd", "wkv6", "wkv7", "gated_delta", "lstm"])("%s takes no tokens", async (name) => {
    const op = opOf(name)!;
    const samples = op.samples.filter(({ bindings = {} }) => "T" in bindings || "S" in bindings);
    expect(samples.length).toBeGreaterThan(0);
    for (const sample of samples)
      expect(await runSample(op, { ...sample, bindings: { T: 0, S: 0 } }, mode)).toBeUndefined();
  });
});

describe.skipIf(missing !== undefined).each(MLX_MODES)(`random graphs, %s ${missing ?? ""}`, (mode) => {
  const seeds = Array.from({ length: 300 }, (_, i) => i + 1);
  test("300 of them equal the reference", async () => {
    for (const seed of seeds) {
      const { graph, inputs } = randomCase(seed);
      const { graph: legal } = compileNow(graph, { backend: "mlx" });
      const weights = weightFile(legal, (name, type) => tensorBytes(inputs.param!(name, type)));
      try {
        await compare(legal, mode, inputs, weights).catch((error: unknown) => {
          throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        });
      } finally {
        weights.remove();
      }
    }
  }, 180_000);
});

// On a CPU each kernel of joined calls costs a run of a C++ compiler, so a few graphs stand for all.
test.skipIf(missing !== undefined)(
  `traces whose element-wise calls are joined give the same ${missing ?? ""}`,
  async () => {
    if (typeof found === "string") throw new Error(found);
    found.setFusion(true);
    try {
      for (const seed of [3, 11, 42]) {
        const { graph, inputs } = randomCase(seed);
        const { graph: legal } = compileNow(graph, { backend: "mlx" });
        const weights = weightFile(legal, (name, type) => tensorBytes(inputs.param!(name, type)));
        await compare(legal, "compiled", inputs, weights).finally(() => weights.remove());
      }
    } finally {
      found.setFusion(found.device === "gpu");
    }
  },
  120_000,
);

test.skipIf(missing !== undefined)(
  `a row of half floats that sees no key gives zeros, however low its scores ${missing ?? ""}`,
  async () => {
    if (typeof found === "string") throw new Error(found);
    const halves = (value: number, rows: number): SampleInput => ({
      type: tensor("f16", [1, 1, rows, 4]),
      fill: { kind: "values", data: Array.from({ length: rows * 4 }, () => value) },
    });
    // Scores of -256, which added to the lowest number are -∞; values of 3, whatever the mixture is.
    const sample: Sample<AttrRecord> = {
      title: "all hidden",
      inputs: [halves(8, 1), halves(-8, 3), halves(3, 3), values([0, 0, 0], [1, 3], "bool")],
      attrs: { scale: 1, mask: "custom" },
    };
    const { inputs } = sampleRun(sample, sampleTensors(sample));
    const compiled = mlxDevice(found, { mode: "lazy" }).compile(sampleGraph(opOf("attention")!, sample));
    const session = compiled.open();
    try {
      const bytes = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, tensorBytes(value)]));
      const { outputs } = await session.run({ inputs: bytes, symbols: {}, fetch: [outputName(0)] });
      expect([...numbersOf("f16", outputs[outputName(0)]!.bytes, cpu)]).toEqual([0, 0, 0, 0]);
    } finally {
      session.dispose();
      compiled.dispose();
    }
  },
);

test.skipIf(missing !== undefined)(
  `the addon has exactly the functions that the plan writer knows ${missing ?? ""}`,
  () => {
    expect(typeof found === "string" ? [] : [...found.functions].sort()).toEqual([...MLX_FUNCTIONS].sort());
  },
);

afterAll(() => {
  if (typeof found !== "string") expect(found.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});
