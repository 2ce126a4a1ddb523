// A short life of the addon, to run under the sanitizers: graphs and packed weights on every instruction set, a model that writes,
// cancels, disposals while a run is on its way, plans that lie, conversions. Prints its counts and ends with a code.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { compileCpu } from "../backends/cpu/compile.ts";
import type { CpuEngine } from "../backends/cpu/engine.ts";
import type { TokenRun } from "../ir/session.ts";
import { compileNow } from "../compiler/compile.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { PackedType } from "../ir/dtype.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { loadAddon } from "../node/native/addon.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import { runBench } from "../runtime/bench.ts";
import type { DecoderModel } from "../runtime/decoderModel.ts";
import { GREEDY_DRAW } from "../runtime/generate.ts";
import { cpuDevice, cpuRules, openDecoder } from "../runtime/devices/cpu.ts";
import { caches, endless, nest } from "./controlGraphs.ts";
import { damagedPlan } from "./mutatePlan.ts";
import { repositoryRoot } from "./oracleProcess.ts";
import { seededRandom } from "./random.ts";
import { randomWindowCase } from "./randomWindows.ts";
import { packedBytes, weightFile } from "./weightFile.ts";

const path = process.argv[2] === undefined ? null : resolve(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), "rlx-sanitize-"));
const WIDTH = 96;
const file = join(folder, "w.bin");
writeFileSync(file, new Uint8Array(Float32Array.from({ length: WIDTH * WIDTH }, (_, i) => Math.sin(i) / 10).buffer));

const ROTATION = {
  dims: 16,
  base: 10_000,
  scaling: "yarn",
  factor: 4,
  originalContext: 32,
  attentionFactor: 1,
  betaFast: 32,
  betaSlow: 1,
} as const;

/** A gated, normed, residual layer with rotation and a cache, for both fusions of the backend. */
function layer(cacheType: "f16" | "f32", weights: "f16" | "f32"): Graph {
  const builder = new GraphBuilder(opTable, "layer");
  const g = typedBuilder(builder);
  builder.limitSymbol("T", 64);
  const x = builder.input("x", tensor("f32", ["T", WIDTH]));
  const past = builder.input("past", tensor("i32", []));
  const w = builder.param("w", tensor(weights, [WIDTH, WIDTH]), { file: "f", tensor: "w" });
  const heads = (y: typeof x): typeof x => g.reshape([y], { shape: ["T", 6, 16] });
  const ones = builder.constant(hostTensor("f32", [WIDTH], new Float64Array(WIDTH).fill(1)));
  const norm = g.rms_norm([x, ones], { eps: 1e-6 });
  const cache = (name: string, y: typeof x): typeof x => {
    const state = builder.state(name, tensor(cacheType, [6, 80, 16]), { rewind: "positions" });
    const next = g.kv_append([state, y, past]);
    builder.setState(name, next);
    return next;
  };
  const positions = g.add([g.iota([], { shape: ["T"], axis: 0 }), past]);
  const [cos, sin] = g.rope_table([positions], ROTATION);
  if (cos === undefined || sin === undefined) throw new Error("a rope table has two results");
  const turned = (): Value => g.rope([heads(g.linear([norm, w])), cos, sin], { dims: 16, style: "neox" });
  const [k, v] = [cache("k", turned()), cache("v", heads(g.linear([norm, w])))];
  const attended = g.attention_cached([turned(), k, v, past], { scale: 0.25 });
  const mixed = g.add([x, g.linear([g.reshape([attended], { shape: ["T", WIDTH] }), w])]);
  builder.output("y", g.mul([g.silu([g.linear([mixed, w])]), g.linear([mixed, w])]));
  return builder.finish();
}

/** Convolutions of every kind, a transpose and pools, one behind the other. */
function images(): Graph {
  const builder = new GraphBuilder(opTable, "images");
  const g = typedBuilder(builder);
  builder.limitSymbol("T", 64);
  const weight = (shape: readonly number[]): Value =>
    builder.constant(
      hostTensor(
        "f32",
        shape,
        Float64Array.from({ length: sizeOf(shape) }, (_, i) => Math.sin(i)),
      ),
    );
  const same = { strides: [1, 1], padding: [1, 1], dilations: [1, 1], groups: 1 };
  let x = builder.input("x", tensor("f32", ["T", 6, 5, 7]));
  x = g.conv([x, weight([6, 1, 3, 3])], { ...same, groups: 6 });
  x = g.conv([x, weight([16, 6, 2, 3])], { ...same, strides: [2, 1] });
  x = g.conv_transpose([x, weight([16, 3, 3, 2])], { ...same, strides: [2, 3], outputPadding: [1, 0] });
  x = g.conv_transpose([x, weight([3, 2, 2, 2])], { ...same, outputPadding: [0, 0] });
  x = g.pool([x], { kind: "max", kernel: [3, 2], strides: [2, 2], padding: [1, 0] });
  builder.output("y", g.pool([x], { kind: "prod", kernel: [1, 3], strides: [1, 1], padding: [0, 2] }));
  return builder.finish();
}

let done = 0;
let refused = 0;

/** Windows of all shapes. main/backends/cpu/windows.native.test.ts checks the numbers. */
async function runWindows(engine: CpuEngine): Promise<void> {
  for (let seed = 1; seed <= 60; seed++) {
    const { graph, inputs } = randomWindowCase(seed);
    const compiled = cpuDevice(engine, { threads: 2 }).compile(compileNow(graph, { backend: "cpu" }).graph);
    const session = compiled.open();
    const given = Object.entries(inputs.inputs).map(([name, value]) => [name, tensorBytes(value)] as const);
    await session.run({ inputs: Object.fromEntries(given), fetch: ["y"] });
    session.dispose();
    compiled.dispose();
    done++;
  }
}

/** Nested loops with a branch on rows of several threads, shared states, a loop without an end. */
async function runControl(engine: CpuEngine): Promise<void> {
  const life = async (graph: Graph, inputs: TokenRun["inputs"], signal?: AbortSignal): Promise<void> => {
    const compiled = cpuDevice(engine, { threads: 3 }).compile(graph);
    const session = compiled.open();
    try {
      for (let run = 0; run < 2; run++) await session.run({ inputs, fetch: [], profile: run === 1 }, signal);
    } finally {
      session.dispose();
      compiled.dispose();
    }
    done++;
  };
  const wave = (count: number): Float32Array => Float32Array.from({ length: count }, (_, i) => Math.sin(i));
  await life(nest(70, 96), { x: wave(70 * 96), w: wave(96 * 96) });
  for (const flag of [0, 1])
    await life(caches(), { flag: Uint8Array.of(flag), fresh: wave(4), past: Int32Array.of(2 + flag) });
  const over = await life(endless(), { x: wave(4) }, AbortSignal.timeout(50)).then(() => "ended", String);
  if (!over.includes("ancelled")) throw new Error(`a loop without an end: ${over}`);
}

/** Runs a plan again and again with some of its bytes wrong; one that loops for ever is stopped. */
async function lie(
  engine: CpuEngine,
  plan: Uint8Array,
  files: readonly string[],
  tries: number,
  inputsFor: (tokens: number) => TokenRun,
): Promise<void> {
  const handle = engine.openWeights({ paths: files });
  const random = seededRandom(3);
  for (let i = 0; i < tries; i++) {
    try {
      const loaded = engine.loadPlan(damagedPlan(plan, random), handle);
      try {
        const sessions = [loaded.openSession({ threads: 2 }), loaded.openSession({ threads: 2 })];
        // With one token and something to give, steps are joint.
        const request = { ...inputsFor(i % 5 === 0 ? 5 : 1), ...(i % 3 === 0 ? { fetch: ["y"] } : {}) };
        const runs = sessions.map((session) => session.run(request, AbortSignal.timeout(300)));
        const results = await Promise.allSettled(runs);
        for (const session of sessions) session.dispose();
        for (const result of results) if (result.status === "rejected") throw result.reason;
      } finally {
        loaded.dispose();
      }
    } catch {
      refused++;
    }
  }
  handle.dispose();
}

const weights = { paths: [file], locate: () => ({ file: 0, offset: 0, bytes: WIDTH * WIDTH * 4 }) };

/** Sessions of a layer: prompts of all sizes, an overfull cache, a cancel, a fork, a restore. */
async function runLayer(engine: CpuEngine, graph: Graph, asGgml: boolean): Promise<void> {
  const compiled = cpuDevice(engine, { threads: 2, weights, asGgml }).compile(graph);
  for (const tokens of [1, 3, 7, 64]) {
    const session = compiled.open();
    const inputs = { x: Float32Array.from({ length: tokens * WIDTH }, (_, i) => Math.cos(i)), past: Int32Array.of(0) };
    await session.run({ inputs, fetch: ["y"], profile: tokens === 3 });
    const over = await session.run({ inputs: { ...inputs, past: Int32Array.of(79) } }).then(() => "ran", String);
    if (tokens > 1 && !over.includes("context is full")) throw new Error(`an overfull cache gave: ${over}`);
    const stop = new AbortController();
    const running = session.run({ inputs }, stop.signal).catch(() => undefined);
    stop.abort();
    const other = await session.fork(1);
    await other.restore(1, await session.save(1));
    session.dispose();
    await running;
    other.dispose();
    done++;
  }
  compiled.dispose();
}

const PACKED: readonly PackedType[] = ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k"];

/** Normed rows against packed matrices, alone and as a gated pair. 1280 is no multiple of 1024. */
function packedProducts(type: PackedType, width: number): Graph {
  const builder = new GraphBuilder(opTable, type);
  const g = typedBuilder(builder);
  builder.limitSymbol("T", 64);
  const tokens = builder.input("tokens", tensor("i32", ["T"]));
  const weight = (name: string): Value => builder.param(name, tensor(type, [48, width]), { file: "f", tensor: name });
  const table = weight("table");
  const ones = builder.constant(hostTensor("f32", [width], new Float64Array(width).fill(1)));
  const x = g.rms_norm([g.gather([table, tokens], { axis: 0 }), ones], { eps: 1e-6 });
  builder.output("logits", g.linear([x, table]));
  builder.output("gated", g.mul([g.silu([g.linear([x, weight("gate")])]), g.linear([x, weight("up")])]));
  return builder.finish();
}

/** Prompts of all the sizes that have kernels of their own, of every packed type. */
async function runPacked(engine: CpuEngine): Promise<void> {
  for (const [type, width] of PACKED.flatMap((type) => [1024, 1280].map((width) => [type, width] as const))) {
    const graph = compileNow(packedProducts(type, width), { backend: "cpu" }).graph;
    const file = weightFile(graph, (_, { shape }) => packedBytes(type, Number(shape[0]) * Number(shape[1]), width));
    const compiled = cpuDevice(engine, { threads: 2, weights: file }).compile(graph);
    const session = compiled.open();
    for (const tokens of [1, 2, 5, 6, 64])
      await session.run({
        inputs: { tokens: Int32Array.from({ length: tokens }, (_, i) => (i * 7) % 48) },
        fetch: ["logits", "gated"],
      });
    session.dispose();
    compiled.dispose();
    file.remove();
    done++;
  }
}

/** The sample model reads a prompt, and draws tokens natively, many in one run. */
async function runSample(engine: CpuEngine): Promise<void> {
  const path = join(repositoryRoot, "assets/models/rlx-sample.gguf");
  const model = await openGguf(await openFileSource(path));
  const decoder = openDecoder(engine, model, [path], { threads: 2 });
  const session = decoder.open({ context: 256 });
  await runBench(session, { promptTokens: 40, generateTokens: 48, repeats: 1, warmup: 0 });
  session.dispose();
  await runTogether(decoder);
  decoder.dispose();
  await model.close();
  done++;
}

/** Sessions at once: of other lengths, one that leaves in the middle, one that is cancelled, one that goes while it is asked. */
async function runTogether(decoder: DecoderModel): Promise<void> {
  const stop = new AbortController();
  const clients = Array.from({ length: 6 }, async (_, client) => {
    const session = decoder.open({ context: 128 });
    const first = await session.feed([1, 2, 3 + client], { sample: GREEDY_DRAW });
    const options = {
      count: 20 + 9 * client,
      sampling: () => GREEDY_DRAW,
      signal: client === 1 ? stop.signal : undefined,
    };
    let drawn = 0;
    try {
      for await (const _token of session.draw(first?.id ?? 0, options)) {
        drawn++;
        if (client === 1 && drawn === 4) stop.abort();
        if (client === 2 && drawn === 7) break;
        if (client === 3 && drawn === 5) session.dispose();
      }
    } catch (error) {
      if (client !== 1 && client !== 3) throw error;
    }
    session.dispose();
  });
  await Promise.all(clients);
}

const best = loadAddon({ path });
for (const isa of best.isas) {
  const engine = loadAddon({ path, isa });
  await runLayer(engine, layer("f16", "f32"), false);
  await runLayer(engine, layer("f32", "f16"), true);
  await runWindows(engine);
  await runControl(engine);
  await runPacked(engine);
  await runSample(engine);
  for (const [graph, asGgml] of [
    [layer("f16", "f32"), false],
    [layer("f32", "f16"), true],
  ] as const)
    await lie(engine, compileCpu(graph, cpuRules, weights.locate, { asGgml }).bytes, [file], 1500, (tokens) => ({
      inputs: { x: new Float32Array(tokens * WIDTH), past: Int32Array.of(0) },
      symbols: { T: tokens },
    }));
  await lie(engine, compileCpu(images(), cpuRules, weights.locate).bytes, [file], 1500, (tokens) => ({
    inputs: { x: new Float32Array(tokens * 6 * 35) },
    symbols: { T: tokens },
  }));
  await lie(engine, compileCpu(nest(4, 8), cpuRules, weights.locate).bytes, [file], 1500, () => ({
    inputs: { x: new Float32Array(32), w: new Float32Array(64) },
    symbols: {},
  }));
  const wide = new Float32Array(64);
  engine.dequantize("q8_0", new Uint8Array(68), wide);
  engine.halve("f16", wide, new Uint16Array(64));
}
rmSync(folder, { recursive: true, force: true });
const left = best.counts();
if (left.weights + left.plans + left.sessions + left.jobs !== 0) throw new Error(`left over: ${JSON.stringify(left)}`);
console.log(`${done} sessions on ${best.isas.join(", ")}, ${refused} lying plans refused`);
process.exit(0);
