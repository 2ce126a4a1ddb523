// A short life of the MLX addon, to run under the sanitizers: packed weights and a small decoder in all three modes, every op, every
// way to run, cancels and disposals while a run is on its way, failing calls, plans that lie and are run. Ends with a code.
import { resolve } from "node:path";
import { compileMlx } from "../backends/mlx/compile.ts";
import { MLX_MODES } from "../backends/mlx/engine.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import type { PackedType } from "../ir/dtype.ts";
import type { TensorType } from "../ir/type.ts";
import { tensor } from "../ir/type.ts";
import { loadMlx } from "../node/native/mlxAddon.ts";
import { compileNow } from "../compiler/compile.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import { OPS, opOf, opTable, typedBuilder } from "../ops/index.ts";
import { sampleRun, sampleTensors } from "../ops/sampleData.ts";
import type { TokenRun } from "../ir/session.ts";
import type { MlxCompiled, MlxSession } from "../runtime/devices/mlx.ts";
import { mlxDevice, mlxRules } from "../runtime/devices/mlx.ts";
import { damagedPlan } from "./mutatePlan.ts";
import { seededRandom } from "./random.ts";
import { packedBytes, storedGraph, weightFile } from "./weightFile.ts";

const path = process.argv[2];
const engine = loadMlx(path === undefined ? undefined : resolve(path));
const random = seededRandom(5);
const WIDTH = 64;

/** Products with every packed type, and rows of a packed table. */
function packed(): Graph {
  const builder = new GraphBuilder(opTable, "packed");
  const g = typedBuilder(builder);
  const rows = builder.input("rows", tensor("i32", [2]));
  let x = builder.input("x", tensor("f32", ["T", 256]));
  const table = builder.param("table", tensor("q5_k", [7, 256]), { file: "f", tensor: "table" });
  for (const type of ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k", "q2_k", "q3_k"] as const)
    x = g.tanh([g.linear([x, builder.param(type, tensor(type, [256, 256]), { file: "f", tensor: type })])]);
  builder.output("y", x);
  builder.output("z", g.gather([table, rows], { axis: 0 }));
  return builder.finish();
}

/** Tokens → packed embedding → a layer with a growing cache → logits over the same embedding. */
function decoder(): Graph {
  const builder = new GraphBuilder(opTable, "decoder");
  const g = typedBuilder(builder);
  builder.limitSymbol("T", 64);
  builder.limitSymbol("capacity", 1024);
  const tokens = builder.input("tokens", tensor("i32", ["T"]));
  const past = builder.input("past", tensor("i32", []));
  const table = builder.param("w", tensor("q4_0", [WIDTH, WIDTH]), { file: "f", tensor: "w" });
  const x = g.gather([table, tokens], { axis: 0 });
  const heads = (y: typeof x): typeof x => g.reshape([y], { shape: ["T", 4, 16] });
  const cache = (name: string, y: typeof x): typeof x => {
    const state = builder.state(name, tensor("f32", [4, "capacity", 16]), { rewind: "positions" });
    const next = g.kv_append([state, heads(y), past]);
    builder.setState(name, next);
    return next;
  };
  const project = (): typeof x => g.linear([x, table]);
  const mixed = g.attention_cached([heads(project()), cache("k", project()), cache("v", project()), past], {
    scale: 0.25,
  });
  const y = g.add([x, g.reshape([mixed], { shape: ["T", WIDTH] })]);
  builder.output("logits", g.linear([y, table]));
  return builder.finish();
}

const bytesOf = (_name: string, { dtype, shape }: TensorType): Uint8Array =>
  packedBytes(
    dtype as PackedType,
    shape.reduce<number>((count, size) => count * Number(size), 1),
    7,
  );
const graph = decoder();
const weights = weightFile(graph, bytesOf);
const products = packed();
const blocks = weightFile(products, bytesOf);
const step = (tokens: readonly number[], past: number, more: Partial<TokenRun> = {}): TokenRun => ({
  inputs: { tokens: Int32Array.from(tokens), past: Int32Array.of(past) },
  fetch: ["logits"],
  ...more,
});
const lively = { temperature: 0.8, topK: 20, topP: 0.9, minP: 0.02, repeatPenalty: 1.2, seed: 3, alternatives: 4 };

async function refused(run: Promise<unknown>, code: string): Promise<void> {
  const got = await run.then(
    () => "ran",
    (error: unknown) => (error as { code?: string }).code,
  );
  if (got !== code) throw new Error(`got ${String(got)}, expected ${code}`);
}

async function live(session: MlxSession): Promise<void> {
  await session.run(step([1, 2, 3], 0));
  const first = session.tokens.run({
    ...step([4], 3),
    logits: "logits",
    sample: { ...lively, recent: Int32Array.of(1, 1, 2, -5, 900), step: 0 },
  });
  const second = session.tokens.run({
    inputs: { past: Int32Array.of(4) },
    symbols: { T: 1 },
    follow: "tokens",
    logits: "logits",
    sample: { ...lively, recent: new Int32Array(0), step: 1 },
  });
  await Promise.all([first, second]);
  await session.tokens.run(step([1, 2], 5, { logits: "logits", score: Int32Array.of(-1, 7), profile: true }));
  await session.runSlots(step([9, 8], 5), { logits: new Uint8Array(2 * WIDTH * 4) });
  await session.commitNoWait(step([9], 7));
  await session.commitNoWait(step([5], 8));
  await session.syncPending();
  await refused(session.run(step([WIDTH], 9)), "RUN_FAILED");
  await refused(session.run(step([1, 2], 1023)), "RUN_CONTEXT_FULL");
  await refused(session.runSlots(step([1], 9), { logits: new Uint8Array(3) }), "INPUT_ARGUMENT");
  const saved = await session.save(9);
  const other = await session.fork(9);
  // Past the length of the cache so far: it grows.
  for (let past = 9; past < 300; past += 60)
    await other.run(
      step(
        Array.from({ length: 60 }, (_, i) => i),
        past,
      ),
    );
  await other.restore(9, saved);
  await other.reset();
  const stop = new AbortController();
  const running = session
    .run(
      step(
        Array.from({ length: 64 }, (_, i) => i),
        9,
      ),
      stop.signal,
    )
    .catch(() => undefined);
  stop.abort();
  session.dispose();
  await running;
  other.dispose();
}

/** Sessions at once: of other lengths, one that is cancelled, one that goes while it is asked, one that fails. */
async function runTogether(compiled: MlxCompiled): Promise<void> {
  const stop = new AbortController();
  const clients = Array.from({ length: 6 }, async (_, client) => {
    const session = compiled.open({ symbols: { capacity: 1024 } });
    const series = { count: 12 + 5 * client, token: "tokens", position: "past", endings: new Int32Array(0) };
    const run = session.tokens.run(
      {
        inputs: { tokens: Int32Array.of(client === 4 ? WIDTH : client), past: Int32Array.of(50 * client) },
        logits: "logits",
        sample: { ...lively, recent: new Int32Array(0), step: client },
        series,
      },
      client === 1 ? stop.signal : undefined,
    );
    if (client === 2) session.dispose();
    if (client === 5) stop.abort();
    await (client === 4 ? refused(run, "RUN_FAILED") : client === 1 ? run.catch(() => undefined) : run);
    session.dispose();
  });
  await Promise.all(clients);
}

let rejected = 0;
for (const mode of MLX_MODES) {
  const compiled = mlxDevice(engine, { mode, weights }).compile(graph);
  await compiled.weights();
  for (let i = 0; i < 3; i++) await live(compiled.open({ symbols: { capacity: 1024 } }));
  await runTogether(compiled);
  compiled.dispose();
  const all = mlxDevice(engine, { mode, weights: blocks }).compile(products);
  const session = all.open();
  for (const rows of [1, 3]) {
    const inputs = { x: new Float32Array(rows * 256).fill(0.1), rows: Int32Array.of(0, 6) };
    await session.run({ inputs, fetch: ["y", "z"] });
  }
  await all.weights();
  session.dispose();
  all.dispose();
}

/** Every op's samples: what they give is judged elsewhere. */
async function sampled(): Promise<number> {
  let runs = 0;
  for (const op of Object.keys(OPS).flatMap((name) => opOf(name) ?? []))
    for (const sample of op.samples) {
      const { graph: legal, blocked } = compileNow(storedGraph(op, sample), {
        backend: "mlx",
        passes: [],
        blocked: "keep",
      });
      if (blocked.size > 0) continue;
      const { inputs, bindings } = sampleRun(sample, sampleTensors(sample));
      const file = weightFile(legal, bytesOf);
      const compiled = mlxDevice(engine, { mode: "compiled", weights: file, limits: bindings }).compile(legal);
      const session = compiled.open({ symbols: bindings });
      const given = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, tensorBytes(value)]));
      for (let time = 0; time < 2; time++, runs++)
        await session.run({ inputs: given, symbols: bindings, fetch: legal.outputs.map(({ name }) => name) });
      session.dispose();
      compiled.dispose();
      file.remove();
    }
  return runs;
}
const samples = await sampled();

const plan = compileMlx(graph, mlxRules, weights.locate).bytes;
const handle = engine.openWeights(weights);
for (let i = 0; i < 3000; i++) {
  try {
    const loaded = engine.loadPlan(damagedPlan(plan, random), handle);
    try {
      const session = loaded.openSession({ mode: i % 4 < 2 ? "lazy" : "eager", symbols: { capacity: 64 } });
      const inputs = { tokens: Int32Array.of(1, 2, 3), past: Int32Array.of(0) };
      await session.run({ inputs, symbols: { T: 3 }, fetch: ["logits"] }).finally(() => session.dispose());
    } finally {
      loaded.dispose();
    }
  } catch {
    rejected++;
  }
}
handle.dispose();
weights.remove();
blocks.remove();
const left = engine.counts();
if (left.weights + left.plans + left.sessions + left.jobs !== 0) throw new Error(`left over: ${JSON.stringify(left)}`);
if (rejected < 1000) throw new Error(`only ${rejected} of 3000 lying plans were refused`);
console.log(
  `MLX ${engine.version}: 12 sessions in three modes, ${samples} runs of samples, ${rejected} of 3000 lying plans refused`,
);
process.exit(0);
