// Every op's samples through the native engine, against the op's own reference: alone, as one native instruction, or as its parts.
// Tolerances follow from f32 arithmetic; half floats round each result once.
import { finish } from "../../ir/steps.ts";
import { afterAll, describe, expect, test } from "vitest";
import type { CpuEngine } from "./engine.ts";
import { CONTROL_KERNELS, CPU_KERNELS } from "./kernels.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import type { AttrRecord } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import { bindDim } from "../../ir/dim.ts";
import type { ElementType, PackedType } from "../../ir/dtype.ts";
import { blockLayout, isFloat, isPacked } from "../../ir/dtype.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { like, staticShape } from "../../ir/type.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { legalise } from "../../compiler/legalise.ts";
import type { AnyOp, Sample, SampleInput } from "../../ops/defineOp.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { WEIGHTS } from "./rules.ts";
import { integers, normal, scalarInput, values, weight } from "../../ops/families/samples.ts";
import type { OpName } from "../../ops/index.ts";
import { OPS, opOf } from "../../ops/index.ts";
import { outputName, sampleRun, sampleTensors } from "../../ops/sampleData.ts";
import { cpuDevice } from "../../runtime/devices/cpu.ts";
import { expectClose, numbersOf } from "../../testing/nativeTensors.ts";
import { packedBytes, storedGraph, weightFile } from "../../testing/weightFile.ts";
import { loadAddon } from "../../node/native/addon.ts";

const WINDOWS = { strides: [1, 2], padding: [1, 2], dilations: [1, 1], groups: 2 } as const;

/** What is multiplied with blocks of 256 is rounded to 8 bits first. */
const ROUNDED = 2 ** -7;

const engines: readonly CpuEngine[] = loadAddon().isas.map((isa) => loadAddon({ isa }));

/** Runs one sample, by its native rule or as its parts; a reason when there is neither. */
async function runSample(engine: CpuEngine, op: AnyOp, sample: Sample<AttrRecord>): Promise<string | undefined> {
  const graph = storedGraph(op, sample);
  const node = graph.nodes.find((candidate) => candidate.op === op.name)!;
  const { graph: legal, blocked } = finish(legalise(graph, "cpu"));
  const [reason] = blocked.values();
  if (reason !== undefined) return reason;

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
  const expected = finish(evaluate(graph, run)).outputs;
  const bytesOf = (name: string, type: TensorType): Uint8Array =>
    packedBytes(type.dtype as PackedType, sizeOf(staticShape(type, "weight")), Number(name.slice(1)) + 1);
  const weights = hasPacked ? weightFile(graph, bytesOf) : undefined;
  const files = weights === undefined ? {} : { weights };
  const compiled = cpuDevice(engine, { threads: 2, limits: sample.bindings ?? {}, ...files }).compile(legal);
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
      else expectClose(value, want, "", hasPacked && got.dtype !== "f64" ? ROUNDED : 0);
    });
  } finally {
    session.dispose();
    compiled.dispose();
    weights?.remove();
  }
  return undefined;
}

/** With f64 for every plain float: nothing where the op itself has another opinion. */
function inDouble(op: AnyOp, sample: Sample<AttrRecord>): readonly Sample<AttrRecord>[] {
  const inputs = sample.inputs.map(({ type, fill }): SampleInput => ({
    fill,
    type: isFloat(type.dtype) ? like(type, "f64") : type,
  }));
  const wide = { ...sample, inputs };
  try {
    storedGraph(op, wide);
    return [wide];
  } catch (error) {
    if (error instanceof WorkbenchError && error.code.startsWith("IR_")) return [];
    throw error;
  }
}

const doubles = (seed: number, shape: Shape): SampleInput => weight(seed, shape, "f64");
/** From one side, with a grey ground: three hundred splats lie over fifteen tiles, ten of them cut off by the edge. */
const SPLATS: readonly SampleInput[] = [
  ...[doubles(20, [300, 3]), doubles(21, [300, 3]), doubles(22, [300, 4]), doubles(23, [300]), doubles(24, [300, 3])],
  ...[doubles(25, [300, 9, 3]), values([1, 0.5, -4, 0, 0, 0, 0, 1, 0, 0.7, 0.1, 9, 0.2, 0.2, 0.2], [15], "f64")],
];
/** What is larger than a block of any loop. */
const LARGE: readonly (readonly [OpName, readonly SampleInput[], AttrRecord])[] = [
  ["matmul", [doubles(1, [2, 1, 37, 70]), doubles(2, [3, 70, 131])], {}],
  ["linear", [doubles(3, [3, 19, 70]), doubles(4, [131, 70]), doubles(5, [131])], {}],
  ["softmax", [doubles(6, [3, 9000])], { axis: 1 }],
  ["rms_norm", [doubles(7, [11, 900]), doubles(8, [900])], { eps: 1e-6 }],
  ["layer_norm", [doubles(9, [11, 900]), doubles(10, [900]), doubles(11, [900])], { eps: 1e-6 }],
  ["conv", [doubles(12, [2, 12, 9, 70]), doubles(13, [30, 6, 3, 5])], WINDOWS],
  ["conv_transpose", [doubles(14, [2, 12, 9, 70]), doubles(15, [12, 9, 3, 5])], { ...WINDOWS, outputPadding: [0, 1] }],
  ["pool", [doubles(16, [2, 3, 40, 700])], { kind: "mean", kernel: [3, 7], strides: [1, 2], padding: [1, 3] }],
  // Many updates of one place, of which each thread takes its own.
  ...(["update", "add"] as const).flatMap(
    (mode): readonly (readonly [OpName, readonly SampleInput[], AttrRecord])[] => [
      ["scatter_nd", [doubles(17, [150, 120, 2]), integers(18, [9000, 2], 0, 119), doubles(19, [9000, 2])], { mode }],
      [
        "scatter_elements",
        [doubles(20, [3, 60, 200]), integers(21, [3, 90, 200], 0, 59), doubles(22, [3, 90, 200])],
        { axis: 1, mode },
      ],
    ],
  ),
  ["gather_nd", [doubles(23, [150, 120, 2]), integers(24, [9000, 2], 0, 119)], {}],
  ["gather_elements", [doubles(25, [3, 60, 200]), integers(26, [3, 90, 200], 0, 59)], { axis: 1 }],
  ["gaussian_splat_render", SPLATS, { width: 70, height: 37 }],
];
const floats = (seed: number, shape: Shape): SampleInput => weight(seed, shape, "f32");
/** What goes another way in f32 by its shape: few windows of many taps, lines across a table, sums down its columns. */
const SHAPED: readonly (readonly [OpName, string, readonly SampleInput[], AttrRecord])[] = [
  [
    "conv",
    "few windows in groups",
    [floats(1, [2, 4, 9, 40]), floats(2, [6, 2, 7, 37])],
    { strides: [1, 1], padding: [0, 1], dilations: [1, 1], groups: 2 },
  ],
  [
    "conv",
    "few windows, sums in pieces, two tiles",
    [floats(3, [4, 6, 12, 60]), floats(4, [5, 6, 10, 53])],
    { strides: [1, 2], padding: [1, 0], dilations: [1, 1], groups: 1 },
  ],
  [
    "conv",
    "few windows, taps apart, wide borders",
    [floats(5, [1, 3, 9, 50]), floats(6, [7, 3, 3, 36])],
    { strides: [1, 1], padding: [3, 14], dilations: [2, 2], groups: 1 },
  ],
  [
    "conv",
    "few windows of a volume",
    [floats(7, [2, 2, 4, 5, 40]), floats(8, [3, 2, 2, 3, 33])],
    { strides: [2, 1, 3], padding: [1, 0, 4], dilations: [1, 1, 1], groups: 1 },
  ],
  [
    "conv_transpose",
    "few channels, steps in a volume",
    [floats(14, [2, 3, 3, 4, 25]), floats(15, [3, 2, 2, 3, 4])],
    { strides: [1, 2, 3], padding: [0, 1, 2], dilations: [1, 1, 2], groups: 1, outputPadding: [0, 1, 1] },
  ],
  [
    "conv_transpose",
    "few channels, steps wider than the row",
    [floats(16, [1, 2, 2, 1]), floats(17, [2, 2, 2, 3])],
    { strides: [2, 9], padding: [0, 0], dilations: [1, 1], groups: 1, outputPadding: [1, 0] },
  ],
  ["transpose", "last two", [floats(9, [3, 270, 150])], { perm: [0, 2, 1] }],
  ["transpose", "all", [floats(10, [5, 33, 270])], { perm: [2, 1, 0] }],
  ["transpose", "last first", [floats(11, [37, 70, 21])], { perm: [2, 0, 1] }],
  ["reduce", "first axis", [floats(12, [190, 3, 50])], { kind: "sum", axes: [0], keepDims: false }],
  ["reduce", "outer axes", [floats(13, [19, 41, 5])], { kind: "max", axes: [0, 2], keepDims: true }],
];
/** Weights, rows and caches of other types than the operand; the result is the operand's, or the cache's. */
const MIXED: readonly (readonly [OpName, ElementType, ElementType])[] = [
  ...(["f16", "bf16", "f32", "q8_0", "q4_k"] as const).map((w) => ["linear", "f64", w] as const),
  ...(["f16", "bf16", "f32"] as const).flatMap((x) => [
    ["linear", x, "f64"] as const,
    ["conv", x, "f64"] as const,
    ["conv", "f64", x] as const,
    ["conv_transpose", x, "f64"] as const,
    ["conv_transpose", "f64", x] as const,
    ["kv_append", x, "f64"] as const,
    ["kv_append", "f64", x] as const,
    ["attention_cached", x, "f64"] as const,
    ["attention_cached", "f64", x] as const,
  ]),
];

function mixedSample(name: OpName, a: ElementType, b: ElementType): Sample<AttrRecord> {
  const title = `${a} and ${b}`;
  switch (name) {
    case "linear":
      return {
        title,
        inputs: [weight(1, [3, 256], a), weight(2, [5, 256], b)],
        attrs: {},
      };
    case "kv_append":
      return { title, inputs: [weight(1, [2, 5, 3], a), weight(2, [2, 2, 3], b), scalarInput(2)], attrs: {} };
    case "attention_cached": {
      const caches = [weight(2, [2, 5, 4], b), weight(3, [2, 5, 4], b)];
      return { title, inputs: [weight(1, [2, 4, 4], a), ...caches, scalarInput(2)], attrs: { scale: 0.5 } };
    }
    default: {
      const attrs = name === "conv" ? WINDOWS : { ...WINDOWS, outputPadding: [0, 1] };
      return { title, inputs: [weight(1, [1, 4, 5, 6], a), weight(2, [4, name === "conv" ? 2 : 3, 3, 5], b)], attrs };
    }
  }
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
    const { kind } = op.backends.cpu;
    expect(kind === "unsupported" ? op.samples.length - reasons.length : reasons, reasons.join("; ")).toEqual(
      kind === "unsupported" ? 0 : [],
    );
  });

  // Refusing f64 is for functions of the host alone; the tolerance is one that f32 does not keep.
  test.each(Object.keys(OPS))("%s in float64", async (name) => {
    const op = opOf(name)!;
    if (op.backends.cpu.kind === "unsupported") return;
    for (const sample of op.samples.flatMap((plain) => inDouble(op, plain)))
      expect(await runSample(engine, op, sample), sample.title).toBeUndefined();
  });

  test.each(LARGE)("%s in float64, larger than a block", async (name, inputs, attrs) => {
    expect(await runSample(engine, opOf(name)!, { title: name, inputs, attrs })).toBeUndefined();
  });

  test.each(SHAPED)("%s: %s", async (name, title, inputs, attrs) => {
    expect(await runSample(engine, opOf(name)!, { title, inputs, attrs })).toBeUndefined();
  });

  test.each<readonly [OpName, readonly SampleInput[], AttrRecord]>([
    ["gather_nd", [normal(1, [3, 5]), values([0, 4, 2, 5], [2, 2], "i32")], {}],
    ["gather_elements", [normal(1, [3, 5]), values([0, -1, 2], [3, 1], "i32")], { axis: 1 }],
    ["scatter_nd", [normal(1, [3, 5]), values([3, 0], [1, 2], "i32"), normal(2, [1])], { mode: "add" }],
    ["scatter_elements", [normal(1, [3]), values([1, 3], [2], "i32"), normal(2, [2])], { axis: 0, mode: "update" }],
  ])("%s refuses a position outside", async (name, inputs, attrs) => {
    const sample = { title: name, inputs, attrs };
    const { graph } = finish(legalise(storedGraph(opOf(name)!, sample), "cpu"));
    const compiled = cpuDevice(engine, { threads: 2 }).compile(graph);
    const session = compiled.open();
    const run = sampleRun(sample, sampleTensors(sample));
    const given = Object.entries(run.inputs).map(([key, tensor]) => [key, tensorBytes(tensor)] as const);
    await expect(session.run({ inputs: Object.fromEntries(given) })).rejects.toThrow("an index is outside");
    session.dispose();
    compiled.dispose();
  });

  test("a value of more axes than kernels have is refused by their number", () => {
    const shape = Array<number>(9).fill(1);
    const graph = storedGraph(opOf("neg")!, { title: "nine axes", inputs: [normal(1, shape)], attrs: {} });
    expect(() => cpuDevice(engine, { threads: 1 }).compile(graph)).toThrow("of 9 axes: got 9, expected at most 8");
  });

  test("conv_transpose over volumes with channels enough for a product", async () => {
    const attrs = { strides: [1, 2, 1], padding: [1, 0, 1], dilations: [1, 1, 2], groups: 2, outputPadding: [0, 1, 0] };
    const inputs = [normal(1, [2, 20, 3, 5, 19]), normal(2, [20, 5, 3, 2, 3])];
    expect(await runSample(engine, opOf("conv_transpose")!, { title: "volumes", inputs, attrs })).toBeUndefined();
  });

  test.each(MIXED)("%s of %s and %s", async (name, a, b) => {
    expect(await runSample(engine, opOf(name)!, mixedSample(name, a, b))).toBeUndefined();
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
  expect([...engine!.kernels].sort()).toEqual([...CPU_KERNELS, ...CONTROL_KERNELS].sort());
});

afterAll(() => {
  for (const engine of engines) expect(engine.counts()).toEqual({ weights: 0, plans: 0, sessions: 0, jobs: 0 });
});
