/**
 * One meaning on every device: each op's samples once more with NaN, infinities, zeros and ones among their numbers. The CPU,
 * MLX and the simulator of Core ML give what the reference gives, and refuse what it refuses.
 */
import { describe, expect, it, test } from "vitest";
import { legalise } from "../compiler/legalise.ts";
import type { AttrRecord } from "../ir/attributes.ts";
import type { Bindings } from "../ir/dim.ts";
import { isFloat, isPacked } from "../ir/dtype.ts";
import { finish } from "../ir/steps.ts";
import type { Graph } from "../ir/graph.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { specialize } from "../ir/specialize.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import type { AnyOp, Sample, SampleInput } from "../ops/defineOp.ts";
import { evaluate } from "../ops/evaluate.ts";
import { values } from "../ops/families/samples.ts";
import { OPS, opOf, opTable } from "../ops/index.ts";
import { sampleGraph, sampleRun, sampleTensors } from "../ops/sampleData.ts";
import { cpuDevice } from "../runtime/devices/cpu.ts";
import type { Device } from "../runtime/device.ts";
import { mlxDevice } from "../runtime/devices/mlx.ts";
import { divergence, DIVERGENCE_GRADIENTS, DIVERGENCE_INPUTS } from "../testing/divergence.ts";
import { numbersOf } from "../testing/nativeTensors.ts";
import { seededRandom } from "../testing/random.ts";
import { lowerProgram } from "./coreml/lowering/lower.ts";
import { Simulator } from "./coreml/simulator/simulator.ts";
import { packageTensor } from "./coreml/package/packageTensor.ts";

type AnySample = Sample<AttrRecord>;
type Given = Pick<ReturnType<typeof sampleRun>, "inputs" | "bindings">;
/** Undefined where the device cannot run the node at all. */
type Results = Readonly<Record<string, ArrayLike<number>>> | undefined;

const SPECIAL = [NaN, NaN, Infinity, -Infinity, 0, 1, -1, 0.5, -2.5, 3];
const SEEDS = [1, 2, 3, 4];

/** Where devices may differ: sums of products in which some devices multiply by zero what others leave out. */
const DIFFERENT: Readonly<Record<string, string>> = {
  attention: "a masked score is a weight of zero, which is multiplied",
  attention_cached: "a masked score is a weight of zero, which is multiplied",
  conv: "padding is zeros, which are multiplied",
  conv_transpose: "padding is zeros, which are multiplied",
  fft: "a transform in fewer steps multiplies by other zeros",
  gated_delta: "MLX multiplies all pairs of tokens of a block, later ones by zero",
  selective_scan: "all pairs of tokens are multiplied by the decay between them, and by zero where one overflows",
  ssd: "its parts are a selective scan",
  while: "a condition over NaN may never end the loop",
  wkv6: "its parts are a selective scan",
  wkv7: "MLX multiplies all pairs of tokens of a block, later ones by zero",
};

/** Where an op was asked for any of several answers: the places of equal numbers. */
const isFree = (sample: AnySample, output: string): boolean => sample.attrs["ties"] === "any" && output === "y1";

const cpu = loadAddon();
const mlx = findMlxEngine();

async function onDevice(device: Device, backend: "cpu" | "mlx", graph: Graph, given: Given): Promise<Results> {
  const { graph: legal, blocked } = finish(legalise(graph, backend));
  if (blocked.size > 0) return undefined;
  const compiled = device.compile(legal);
  const session = compiled.open({ symbols: given.bindings });
  try {
    const inputs = Object.fromEntries(Object.entries(given.inputs).map(([name, x]) => [name, tensorBytes(x)]));
    const fetch = graph.outputs.map(({ name }) => name);
    const { outputs } = await session.run({ inputs, symbols: given.bindings, fetch });
    return Object.fromEntries(
      Object.entries(outputs).map(([name, { dtype, bytes }]) => [name, numbersOf(dtype, bytes, cpu)]),
    );
  } finally {
    session.dispose();
    compiled.dispose();
  }
}

async function onSimulator(graph: Graph, given: Given): Promise<Results> {
  const { graph: legal, blocked } = finish(legalise(finish(specialize(opTable, graph, given.bindings)), "coreml"));
  if (blocked.size > 0) return undefined;
  const rules = (name: string) => {
    const entry = opOf(name)?.backends.coreml;
    return entry?.kind === "native" ? entry : undefined;
  };
  const lowered = finish(lowerProgram([{ name: "main", graph: legal }], { rules, profile: "exact", opset: "CoreML8" }));
  // Large constants need a package on disk: main/backends/coreml/ops.oracle.test.ts.
  if (lowered.plan.blob.records.length > 0) return undefined;
  const simulator = new Simulator({
    specificationVersion: 0,
    program: lowered.program,
    functions: [],
    defaultFunction: "main",
    userDefined: {},
    weights: undefined,
  });
  const bindings = lowered.functions[0]!.bindings;
  const inputs = bindings.flatMap((b) =>
    b.kind === "input" ? [[b.feature, packageTensor(b.dtype, b.shape, given.inputs[b.name]!.data)] as const] : [],
  );
  const made = await simulator.function().predict(Object.fromEntries(inputs));
  return Object.fromEntries(bindings.flatMap((b) => (b.kind === "output" ? [[b.name, made[b.feature]!.data]] : [])));
}

const devices: readonly (readonly [
  name: string,
  run: (graph: Graph, given: Given, limits: Bindings) => Promise<Results>,
])[] = [
  ["cpu", (graph, given, limits) => onDevice(cpuDevice(cpu, { threads: 1, limits }), "cpu", graph, given)],
  ...(typeof mlx === "string"
    ? []
    : [
        [
          "mlx",
          (graph: Graph, given: Given, limits: Bindings) =>
            onDevice(mlxDevice(mlx, { mode: "lazy", limits }), "mlx", graph, given),
        ] as const,
      ]),
  ["coreml-sim", onSimulator],
];

/** The sample with some of its float32 numbers replaced; undefined where it has none. */
function withSpecials(sample: AnySample, seed: number): AnySample | undefined {
  const random = seededRandom(seed);
  const tensors = sampleTensors(sample);
  const isPlain = ({ type: { dtype } }: SampleInput): boolean =>
    !isPacked(dtype) && (dtype === "f32" || !isFloat(dtype));
  if (!sample.inputs.every(isPlain)) return undefined;
  if (!tensors.some((x) => x.dtype === "f32" && x.data.length > 0)) return undefined;
  const special = (x: number): number => (random.next() < 0.4 ? random.pick(SPECIAL) : x);
  const inputs = sample.inputs.map((input, i): SampleInput => {
    if (input.type.dtype !== "f32") return input;
    return { ...input, fill: { kind: "values", data: Array.from(tensors[i]!.data, special) } };
  });
  return { ...sample, inputs };
}

function firstDifference(got: ArrayLike<number>, want: HostTensor): string | undefined {
  // A half keeps three digits, where the device has it.
  const step = want.dtype === "f32" ? 1e-4 : want.dtype === "f16" || want.dtype === "bf16" ? 2 ** -7 : 0;
  const scale = want.data.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 1);
  const same = (a: number, b: number): boolean =>
    Number.isFinite(b) ? Math.abs(a - b) <= step * (Math.abs(b) + scale) : Object.is(a, b);
  const at = want.data.findIndex((x, i) => !same(got[i] ?? NaN, x));
  return at < 0 && got.length === want.data.length ? undefined : `[${at}]: got ${got[at]}, expected ${want.data[at]}`;
}

describe("NaN and infinities mean the same on every device", () => {
  const ops = Object.keys(OPS).filter((name) => !(name in DIFFERENT));
  it.each(ops)("%s", async (name) => {
    const op: AnyOp = opOf(name)!;
    for (const plain of op.samples)
      for (const seed of SEEDS) {
        const sample = withSpecials(plain, seed);
        if (sample === undefined) continue;
        const graph = sampleGraph(op, sample);
        const given = sampleRun(sample, sampleTensors(sample));
        const wanted = finish(evaluate(graph, given)).outputs;
        for (const [device, run] of devices) {
          const results = await run(graph, given, given.bindings);
          for (const [output, want] of Object.entries(results === undefined ? {} : wanted))
            if (!isFree(plain, output))
              expect(firstDifference(results![output]!, want), `${device}, ${plain.title}, ${output}`).toBeUndefined();
        }
      }
  });
});

test.each([
  ["argmax", { axis: 0 }],
  ["argmin", { axis: 0 }],
  ["reduce", { kind: "max", axes: [0] }],
  ["reduce", { kind: "min", axes: [0, 1] }],
] as const)("%s with %j of an axis that is empty at run time is refused everywhere", async (name, attrs) => {
  const sample = { title: "empty", inputs: [values([], ["T", 3])], attrs, bindings: { T: 0 } };
  const graph = sampleGraph(opOf(name)!, sample);
  const given = sampleRun(sample, [hostTensor("f32", [0, 3], [])]);
  expect(() => finish(evaluate(graph, given))).toThrow(expect.objectContaining({ code: "IR_SHAPE" }));
  for (const [device, run] of devices)
    await expect(run(graph, given, { T: 4 }), device).rejects.toMatchObject({ code: "IR_SHAPE" });
});

test("the gradient of kl is 0 where there is no share, and below", async () => {
  const { gradient } = divergence();
  for (const [device, run] of devices) {
    const results = await run(gradient, { inputs: DIVERGENCE_INPUTS, bindings: {} }, {});
    for (const [output, want] of Object.entries(DIVERGENCE_GRADIENTS))
      expect(firstDifference(results![output]!, want), `${device}, ${output}`).toBeUndefined();
  }
});
