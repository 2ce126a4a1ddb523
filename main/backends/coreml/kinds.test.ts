// The kinds of operation that the system is specified with for Core ML: each is operations of ours, and each of these runs on the
// simulator, lowered to MIL or as a host part, with the reference's results. docs/coreml.md has the table that this makes.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { legalise } from "../../compiler/legalise.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { AttrRecord } from "../../ir/attributes.ts";
import { blockLayout, isPacked } from "../../ir/dtype.ts";
import type { Graph } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { specialize } from "../../ir/specialize.ts";
import { finish } from "../../ir/steps.ts";
import { packageReader, packageWriter } from "../../node/files/packageDirectory.ts";
import type { AnyOp, Sample } from "../../ops/defineOp.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { opOf, opTable } from "../../ops/index.ts";
import { inputName, sampleGraph, sampleRun, sampleTensors } from "../../ops/sampleData.ts";
import { coremlKernel } from "../../ops/signal/customKernels.ts";
import { repositoryRoot } from "../../testing/oracleProcess.ts";
import { programOf } from "./hybrid/program.ts";
import type { RouteOptions } from "./hybrid/route.ts";
import { routeGraph } from "./hybrid/route.ts";
import { HybridRunner } from "./hybrid/runner.ts";
import { openPackage, writePackage } from "./package.ts";
import { Simulator } from "./simulator/simulator.ts";
import { readSmallParts, writeWeights } from "./weights/write.ts";

/** A kind and the operations that it is here; `packed`: over weights in blocks. */
type Kind = readonly [kind: string, ops: readonly string[], packed?: true];

const KINDS: readonly Kind[] = [
  // Leaves of a graph: what every other row has.
  ["Input", []],
  ["Param", []],
  ["Constant", []],
  ["MatMul", ["matmul", "linear"]],
  ["Binary", ["add", "sub", "mul", "div", "maximum", "minimum", "pow"]],
  [
    "Activation",
    [
      ...["relu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "abs", "sin", "cos", "tan", "atan", "round"],
      ...["gelu", "silu", "neg"],
    ],
  ],
  ["Softmax", ["softmax"]],
  ["Reshape", ["reshape"]],
  ["Transpose", ["transpose"]],
  ["LayerNorm", ["layer_norm"]],
  ["RmsNorm", ["rms_norm"]],
  ["Reduce", ["reduce"]],
  ["Concat", ["concat"]],
  ["Gather", ["gather"]],
  ["Narrow", ["narrow"]],
  ["Rope", ["rope"]],
  ["Attention", ["attention", "attention_cached"]],
  ["Cast", ["cast"]],
  ["Compare", ["compare"]],
  ["Where", ["where"]],
  ["Expand", ["expand"]],
  ["Cumsum", ["cumsum"]],
  ["ScatterAdd", ["scatter_add"]],
  ["BatchNormInference", ["batch_norm_inference"]],
  ["GroupNorm", ["group_norm"]],
  ["LayerNorm2d", ["layer_norm2d"]],
  ["LoraMatMul", ["lora_matmul"]],
  ["Conv", ["conv"]],
  ["ConvTranspose2d", ["conv_transpose"]],
  ["Pool", ["pool"]],
  ["TopK", ["topk"]],
  ["AxialRope2d", ["axial_rope_2d"]],
  ["ResizeNearest2x", ["resize_nearest2x"]],
  ["StopGradient", ["stop_gradient"]],
  ["GroupedMatMul", ["linear_grouped"]],
  ["DequantMatMul", ["linear"], true],
  ["DequantMoEWeights", ["dequantize"], true],
  ["DequantGroupedMatMul", ["linear_grouped"], true],
  ["Dequantize", ["dequantize_affine"]],
  ["Quantize", ["quantize"]],
  ["SelectiveScan", ["selective_scan"]],
  ["GatedDeltaNet", ["gated_delta"]],
  ["Fft", ["fft"]],
  ["LogMel", ["log_mel"]],
  ["WelchPeaks", ["welch_peaks"]],
  ["Sample", ["sample"]],
  ["RngNormal", ["rng_normal"]],
  ["RngUniform", ["rng_uniform"]],
  ["Lstm", ["lstm"]],
  ["Gru", ["gru"]],
  ["Rnn", ["rnn"]],
  ["Mamba2", ["ssd"]],
  ["Custom", ["custom"]],
  // The list names 53; it counts 58, and the others are among these.
  ["ArgMax", ["argmax"]],
  ["ArgMin", ["argmin"]],
  ["Reverse", ["reverse"]],
  ["ScatterNd", ["scatter_nd"]],
  ["ScatterElements", ["scatter_elements"]],
  ["GatherNd", ["gather_nd"]],
  ["GatherElements", ["gather_elements"]],
  ["Interpolate3d", ["interpolate"]],
];

type AnySample = Sample<AttrRecord>;
type Place = "lowered" | "host";

const folder = mkdtempSync(join(tmpdir(), "rlx-kinds-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const target = { chip: "m2", os: "macos15", units: "all", profile: "exact", context: 1, phase: "decode" } as const;
const host = (graph: Graph, inputs: Readonly<Record<string, HostTensor>>): Promise<Record<string, HostTensor>> =>
  Promise.resolve({ ...finish(evaluate(graph, { inputs })).outputs });

/** Blocks of small positive halves and all sorts of codes, and what they stand for. */
function blocksOf(type: Parameters<typeof dequantize>[0], shape: readonly number[]): [Uint8Array, HostTensor] {
  const { elements, bytes } = blockLayout(type);
  const count = sizeOf(shape);
  const data = Uint8Array.from({ length: (count / elements) * bytes }, (_, i) => (i * 7) % 0x34);
  return [data, hostTensor("f32", shape, Float64Array.from(dequantize(type, data, count)))];
}

/** A sample that Core ML's limits of types and sizes do not concern: floats and 32-bit numbers, with elements. */
function sampleOf(op: AnyOp, kind: string, packed: boolean): AnySample {
  const plain = ({ inputs, title }: AnySample): boolean =>
    inputs.every(
      ({ type: { dtype, shape } }) =>
        (packed || !isPacked(dtype)) && !["i64", "f64", "u32", "u8", "c64"].includes(dtype) && !shape.includes(0),
    ) &&
    inputs.some(({ type }) => isPacked(type.dtype)) === packed &&
    (kind !== "Interpolate3d" || /volume|three|3/iu.test(title) || inputs[0]?.type.shape.length === 5);
  const found =
    op.samples.find(plain) ??
    op.samples.find(({ inputs }) => inputs.some(({ type }) => isPacked(type.dtype)) === packed);
  if (found === undefined) throw new Error(`${op.name} has a sample for ${kind}`);
  return found;
}

let packages = 0;

async function placeOf(op: AnyOp, kind: string, packed: boolean): Promise<Place> {
  const sample = sampleOf(op, kind, packed);
  const stored = new Map<string, Uint8Array>();
  const tensors = sampleTensors(sample).map((tensor, i): HostTensor => {
    const type = sample.inputs[i]?.type.dtype ?? "f32";
    if (!isPacked(type)) return tensor;
    const [bytes, values] = blocksOf(type, tensor.shape);
    stored.set(inputName(i), bytes);
    return values;
  });
  const graph = sampleGraph(op, sample);
  const bound = finish(specialize(opTable, graph, sample.bindings ?? {}));
  const legal = finish(legalise(bound, "coreml")).graph;
  const read = (name: string, at: number, length: number): Promise<Uint8Array> =>
    Promise.resolve((stored.get(name) ?? new Uint8Array()).slice(at, at + length));
  const options: RouteOptions = { table: opTable, entries: (name) => opOf(name)?.backends.coreml, target };
  const first = routeGraph(legal, options);
  // Small weights stand in the program itself.
  const small = first.lowered && (await readSmallParts(first.lowered.plan, { read, dequantize }));
  const route = small === undefined ? first : routeGraph(legal, { ...options, small });
  const { lowered } = route;
  const path = join(folder, `${packages++}.mlpackage`);
  if (lowered !== undefined)
    await writePackage(
      await packageWriter(path),
      lowered.plan.blob,
      async (sink) => void (await writeWeights(lowered.plan, { read, dequantize }, sink)),
      () => ({
        ...{
          program: lowered.program,
          opset: lowered.opset,
          defaultFunction: lowered.program.functions[0]?.name ?? "",
        },
        metadata: { shortDescription: kind, author: "", license: "", version: "1", userDefined: {} },
      }),
    );
  const reader = lowered === undefined ? undefined : packageReader(path);
  const runner = new Simulator(
    reader === undefined
      ? {
          ...{ specificationVersion: 9, program: { functions: [], buildInfo: {} }, functions: [] },
          ...{ defaultFunction: "main", userDefined: {}, weights: undefined },
        }
      : await openPackage(reader),
  );
  const run = sampleRun(sample, tensors);
  const made = await new HybridRunner({
    ...{ table: opTable, program: programOf(route), runner, host, kernel: coremlKernel },
  }).run(run.inputs);
  await reader?.close();
  const wanted = finish(evaluate(graph, run)).outputs;
  expect(Object.keys(made.outputs)).toEqual(Object.keys(wanted));
  for (const [name, want] of Object.entries(wanted)) {
    const got = made.outputs[name];
    const size = Math.sqrt(want.data.reduce((sum, v) => sum + v * v, 0) / Math.max(1, want.data.length));
    want.data.forEach((v, i) => {
      if (!Number.isFinite(v)) expect(got?.data[i], `${op.name} ${name}`).toBe(v);
      else expect(Math.abs((got?.data[i] ?? NaN) - v), `${op.name} ${name}`).toBeLessThan(2e-5 * (1 + size));
    });
  }
  return made.timings.some(({ side }) => side === "host") ? "host" : "lowered";
}

const rows: string[] = [];

it.each(KINDS.map(([kind, ops, packed = false]) => ({ kind, ops, packed })))(
  "$kind runs",
  async ({ kind, ops, packed }) => {
    const places = new Set<Place>();
    for (const name of ops) {
      const op = opOf(name);
      if (op === undefined) throw new Error(`${kind}: no operation ${name}`);
      places.add(await placeOf(op, kind, packed));
    }
    if (ops.length > 0) expect(places.size).toBe(1);
    const [place = "lowered"] = places;
    const named = ops.length === 0 ? "a leaf of the graph" : ops.map((name) => `\`${name}\``).join(", ");
    const over = packed ? ", weights in blocks" : "";
    rows.push(`| ${kind} | ${named}${over} | ${place === "host" ? "host part" : "lowered to MIL"} |`);
  },
);

it("are the table of docs/coreml.md", () => {
  expect(rows).toHaveLength(KINDS.length);
  const page = readFileSync(join(repositoryRoot, "docs/coreml.md"), "utf8");
  const squeezed = (line: string): string => line.replaceAll(/ +/gu, " ").trim();
  const told = page
    .split("\n")
    .map(squeezed)
    .filter((line) => line.startsWith("|"));
  expect(told.slice(-rows.length)).toEqual(rows);
});
