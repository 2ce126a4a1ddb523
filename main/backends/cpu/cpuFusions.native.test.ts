// Whole graphs through the native engine with and without the fusions, against the reference evaluator: random ones with
// planted near-patterns, and tiny models of every family, in several steps so that caches count.
import { finish } from "../../ir/steps.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { LocateWeight } from "../../ir/weightPlace.ts";
import { compileNow } from "../../compiler/compile.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { like, tensor } from "../../ir/type.ts";
import { verify } from "../../ir/verify.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { opOf, opTable, typedBuilder } from "../../ops/index.ts";
import { compileArtifact, loadArtifact } from "../../runtime/devices/cpu.ts";
import { numbersOf } from "../../testing/nativeTensors.ts";
import { randomCase } from "../../testing/randomGraphs.ts";
import { TINY_OPTIONS, tinyModel, tinyParam } from "../../testing/tinyModels.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { gptOss } from "../../models/families/gptOss.ts";
import { llama4 } from "../../models/families/llama4.ts";
import { sampleHeader, toyTensors } from "../../testing/toyFiles.ts";

const engine = loadAddon();
const folder = mkdtempSync(join(tmpdir(), "rlx-cpu-patterns-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Param = (name: string, type: TensorType) => HostTensor;

/** The weights of a graph in one file. */
function weightsOf(graph: Graph, param: Param): { readonly path: string; readonly locate: LocateWeight } {
  const places = new Map<string, { readonly offset: number; readonly bytes: number }>();
  const parts: Uint8Array[] = [new Uint8Array(64)];
  let end = 64;
  for (const node of graph.nodes) {
    const [type] = node.outputs;
    if (node.op !== "param" || type === undefined) continue;
    const bytes = tensorBytes(param(String(node.attrs["name"]), type));
    places.set(String(node.attrs["name"]), { offset: end, bytes: bytes.length });
    const padded = new Uint8Array(Math.ceil(bytes.length / 64) * 64);
    padded.set(bytes);
    parts.push(padded);
    end += padded.length;
  }
  const path = join(folder, `${graph.name}-${Math.random()}.bin`);
  writeFileSync(path, Buffer.concat(parts));
  const byTensor = new Map(graph.nodes.map((node) => [String(node.attrs["tensor"]), String(node.attrs["name"])]));
  return {
    path,
    locate: (_file, tensor) => ({ file: 0, ...places.get(byTensor.get(tensor)!)! }),
  };
}

/** One session of the plan over these weights; gives the outputs of each step. */
async function runPlan(
  graph: Graph,
  param: Param,
  steps: readonly Readonly<Record<string, HostTensor>>[],
): Promise<{ readonly outputs: Record<string, Float64Array>[]; readonly kernels: string[] }> {
  const { path, locate } = weightsOf(graph, param);
  const artifact = compileArtifact(graph, { weights: { paths: [], locate } });
  const compiled = loadArtifact(engine, artifact, { threads: 2, files: { paths: [path] } });
  const session = compiled.open();
  const outputs: Record<string, Float64Array>[] = [];
  for (const step of steps) {
    const inputs = Object.fromEntries(Object.entries(step).map(([name, value]) => [name, tensorBytes(value)]));
    const fetch = graph.outputs.map(({ name }) => name);
    const result = await session.run({ inputs, fetch });
    outputs.push(
      Object.fromEntries(
        Object.entries(result.outputs).map(([name, { dtype, bytes }]) => [name, numbersOf(dtype, bytes, engine)]),
      ),
    );
  }
  session.dispose();
  compiled.dispose();
  return { outputs, kernels: artifact.steps.map(({ kernel }) => kernel) };
}

function expectClose(got: Float64Array, want: Float64Array, tolerance: number, what = ""): void {
  const scale = want.reduce((most, x) => Math.max(most, Math.abs(x)), 1);
  expect(got).toHaveLength(want.length);
  const worst = want.reduce((most, x, i) => Math.max(most, Math.abs(x - got[i]!)), 0) / scale;
  expect(worst, what).toBeLessThan(tolerance);
}

test("300 random graphs: with fusions, without, and the reference agree; the fusions are met", async () => {
  const met = new Map<string, number>();
  for (let seed = 1; seed <= 300; seed++) {
    const { graph, inputs } = randomCase(seed);
    const want = finish(evaluate(graph, inputs)).outputs;
    for (const fused of [false, true]) {
      const { graph: legal } = compileNow(graph, { backend: "cpu", ...(fused ? {} : { passes: [] }) });
      const { outputs, kernels } = await runPlan(legal, inputs.param!, [inputs.inputs]);
      for (const [name, { data }] of Object.entries(want))
        expectClose(outputs[0]![name]!, data, 2e-5, `${seed} ${fused}`);
      if (fused) for (const kernel of kernels) met.set(kernel, (met.get(kernel) ?? 0) + 1);
    }
  }
  expect(met.get("linear_block") ?? 0).toBeGreaterThan(50);
});

const wideType = (type: TensorType): TensorType => (type.dtype === "f32" ? like(type, "f64") : type);
const wideTensor = (x: HostTensor): HostTensor => (x.dtype === "f32" ? { ...x, dtype: "f64" } : x);
/** The same graph in float64. */
const wideGraph = (graph: Graph): Graph => ({
  ...graph,
  constants: new Map([...graph.constants].map(([hash, data]) => [hash, wideTensor(data)])),
  nodes: graph.nodes.map((node) => ({
    ...node,
    attrs: node.attrs["to"] === "f32" ? { ...node.attrs, to: "f64" } : node.attrs,
    outputs: node.outputs.map(wideType),
    regions: node.regions.map(wideGraph),
  })),
});

test("100 of them in float64: what passes make of them runs, in float64 throughout", async () => {
  let regions = 0;
  for (let seed = 1; seed <= 100; seed++) {
    const { graph: narrow, inputs } = randomCase(seed);
    const graph = wideGraph(narrow);
    expect(verify(opTable, graph)).toEqual([]);
    const given = Object.fromEntries(Object.entries(inputs.inputs).map(([name, x]) => [name, wideTensor(x)]));
    const param: Param = (name, type) => wideTensor(inputs.param!(name, type));
    const want = finish(evaluate(graph, { inputs: given, param })).outputs;
    const { graph: legal } = compileNow(graph, { backend: "cpu", verify: true });
    const fused = legal.nodes.flatMap(({ op }) => (opOf(op)?.traits.includes("fused") === true ? [op] : []));
    // Blocks of products compute in f32.
    expect(fused.filter((op) => op !== "elementwise_region")).toEqual([]);
    regions += fused.length;
    const { outputs } = await runPlan(legal, param, [given]);
    for (const [name, { data }] of Object.entries(want))
      expectClose(outputs[0]![name]!, data, 1e-12, `${seed} ${name}`);
  }
  expect(regions).toBeGreaterThan(20);
});

describe.each(["llama", "qwen2", "qwen3"] as const)("tiny %s", (family) => {
  test.each(["f32", "f16"] as const)(
    "prompt and single tokens, %s caches: with and without passes",
    async (cacheType) => {
      const graph = tinyModel(family, 2, { ...TINY_OPTIONS, cacheType });
      // The block attends to up to four tokens in one way, to more in another.
      const steps = [[5, 17, 40, 2, 30, 8], [7], [9, 21]].map((tokens, i) => ({
        tokens: hostTensor("i32", [tokens.length], tokens),
        past: hostScalar("i32", [0, 6, 7][i]!),
        logit_rows: hostTensor("i32", [1], [tokens.length - 1]),
      }));
      let states: Readonly<Record<string, HostTensor>> = {};
      const want = steps.map((inputs) => {
        const result = finish(evaluate(graph, { inputs, states, param: tinyParam, bindings: {} }));
        states = result.states;
        return result.outputs["logits"]!.data;
      });
      const forms = [
        compileNow(graph, { backend: "cpu", passes: [] }).graph,
        compileNow(graph, { backend: "cpu" }).graph,
        compileNow(graph, { backend: "cpu", passes: [], dispatch: "force-common" }).graph,
      ];
      for (const [i, form] of forms.entries()) {
        const { outputs, kernels } = await runPlan(form, tinyParam, steps);
        want.forEach((data, step) => expectClose(outputs[step]!["logits"]!, data, 2e-5));
        expect(kernels.includes("attention_block")).toBe(i === 1);
      }
    },
  );
});

const ATTENDING = [
  ["sinks", gptOss, "small"],
  ["chunks", llama4, "128 experts, heads without a norm"],
] as const;
test.each(ATTENDING)("the attention block takes %s, and gives what its parts give", async (_what, family, title) => {
  const sample = family.samples.find((each) => each.title === title)!;
  const tensors = new Map(await toyTensors(family, sample));
  const model = family.read(await sampleHeader(family, sample), sample.architecture);
  if (model.kind !== "decoder") throw new Error("expected a decoder");
  const weights = {
    identity: "toy",
    has: (name: string) => tensors.has(name),
    tensorType: (name: string) => tensor("f32", tensors.get(name) ?? []),
  };
  const graph = finish(model.graph(weights, { ...TINY_OPTIONS, capacity: 40, largestStep: 24 }));
  // With a window of 16 or chunks: the first tokens are no longer seen.
  const steps = [Array.from({ length: 24 }, (_, i) => (i * 37 + 5) % 300), [7], [9, 21]].map((tokens, i) => ({
    tokens: hostTensor("i32", [tokens.length], tokens),
    past: hostScalar("i32", [0, 24, 25][i]!),
    logit_rows: hostTensor("i32", [1], [tokens.length - 1]),
  }));
  const [parts, whole] = [compileNow(graph, { backend: "cpu", passes: [] }), compileNow(graph, { backend: "cpu" })];
  const want = await runPlan(parts.graph, tinyParam, steps);
  const got = await runPlan(whole.graph, tinyParam, steps);
  expect(got.kernels).toContain("attention_block");
  expect(want.kernels).not.toContain("attention_block");
  steps.forEach((_, i) => expectClose(got.outputs[i]!["logits"]!, want.outputs[i]!["logits"]!, 2e-5));
});

test("states that change places, are passed on, appended to and shown as they were: three steps equal the reference", async () => {
  const builder = new GraphBuilder(opTable, "states");
  const g = typedBuilder(builder);
  builder.limitSymbol("T", 4);
  const x = builder.input("x", tensor("f32", ["T", 1, 2]));
  const past = builder.input("past", tensor("i32", []));
  const names = ["a", "b", "cache", "before", "sum"] as const;
  const state = Object.fromEntries(
    names.map((name) => [name, builder.state(name, tensor("f32", name === "sum" ? [] : [1, 8, 2]))]),
  ) as Record<(typeof names)[number], Value>;
  const appended = g.kv_append([state.cache, x, past]);
  const twice = g.kv_append([g.kv_append([state.a, x, past]), x, past]);
  builder.setState("a", state.b);
  builder.setState("b", twice);
  builder.setState("cache", appended);
  builder.setState("before", state.cache);
  builder.setState("sum", g.add([state.sum, g.reduce([appended], { kind: "sum", axes: [0, 1, 2] })]));
  builder.output("old", state.cache);
  builder.output("new", appended);
  builder.output("held", state.before);
  builder.output("a", state.a);
  builder.output("sum", g.mul([state.sum, state.sum]));
  const graph = builder.finish();
  const steps = [2, 1, 3].map((count, i) => ({
    x: hostTensor(
      "f32",
      [count, 1, 2],
      Array.from({ length: 2 * count }, (_, at) => i + at / 8),
    ),
    past: hostScalar("i32", [0, 2, 3][i]!),
  }));
  let states: Readonly<Record<string, HostTensor>> = {};
  const want = steps.map((inputs) => {
    const result = finish(evaluate(graph, { inputs, states }));
    states = result.states;
    return Object.fromEntries(Object.entries(result.outputs).map(([name, { data }]) => [name, data]));
  });
  expect((await runPlan(graph, tinyParam, steps)).outputs).toEqual(want);
});
