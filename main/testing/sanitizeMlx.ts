// A short life of the MLX addon, to run under the sanitizers (MLX itself is not built with them): packed and plain weights in all
// three modes, growing caches, cancels, disposals while a run is on its way, plans that lie. Prints its counts and ends with a code.
//   LD_PRELOAD=libasan.so:libubsan.so node --import tsx main/testing/sanitizeMlx.ts path/to/rlx_mlx.node
import { resolve } from "node:path";
import { compileMlx } from "../backends/mlx/compile.ts";
import { MLX_MODES } from "../backends/mlx/engine.ts";
import { compile } from "../compiler/compile.ts";
import { isPacked } from "../ir/dtype.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import { tensor } from "../ir/type.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import { loadMlx } from "../node/mlxAddon.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import { mlxDevice, mlxRules } from "../runtime/mlxDevice.ts";
import { seededRandom } from "./random.ts";
import { TINY_OPTIONS, tinyModel, tinyParam } from "./tinyModels.ts";
import { packedBytes, weightFile } from "./weightFile.ts";

const [, , path] = process.argv;
const mlx = loadMlx(path === undefined ? undefined : resolve(path));
const legal = (graph: Graph): Graph => compile(graph, { backend: "mlx" }).graph;

/** Products with every packed type, and rows of a packed table. */
function packed(): Graph {
  const builder = new GraphBuilder(opTable, "packed");
  const g = typedBuilder(builder);
  const rows = builder.input("rows", tensor("i32", [2]));
  let x = builder.input("x", tensor("f32", ["T", 256]));
  const types = ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k", "q2_k", "q3_k"] as const;
  const table = builder.param("table", tensor("q5_k", [7, 256]), { file: "f", tensor: "table" });
  for (const type of types)
    x = g.tanh([g.linear([x, builder.param(type, tensor(type, [256, 256]), { file: "f", tensor: type })])]);
  builder.output("y", x);
  builder.output("z", g.gather([table, rows], { axis: 0 }));
  return builder.finish();
}

let runs = 0;
let refused = 0;
const decoder = legal(
  tinyModel("qwen3", 2, { ...TINY_OPTIONS, capacity: "capacity", largestCapacity: 600, largestStep: 64 }),
);
const weights = weightFile(decoder, (name, type) => tensorBytes(tinyParam(name, type)));
const blocks = legal(packed());
const blockFile = weightFile(blocks, (_, type) =>
  isPacked(type.dtype) ? packedBytes(type.dtype, Number(type.shape[0]) * 256, runs++) : new Uint8Array(0),
);
for (const mode of MLX_MODES) {
  const compiled = mlxDevice(mlx, { mode, weights }).compile(decoder);
  const session = compiled.open({ symbols: { capacity: 600 } });
  for (const [count, past] of [
    [5, 0],
    [1, 5],
    [1, 6],
    [60, 250],
    [1, 310],
  ] as const) {
    const inputs = { tokens: new Int32Array(count), past: Int32Array.of(past), logit_rows: Int32Array.of(count - 1) };
    await session.run({ inputs, fetch: ["logits"], profile: past === 6 });
    runs++;
    const tooFar = { ...inputs, past: Int32Array.of(599), tokens: new Int32Array(2) };
    await session.run({ inputs: tooFar }).then(
      () => runs++,
      () => refused++,
    );
    const stop = new AbortController();
    const running = session.run({ inputs }, stop.signal).then(
      () => runs++,
      () => refused++,
    );
    stop.abort();
    await running;
  }
  const forked = await session.fork(20);
  await forked.restore(10, await session.save(10));
  const inputs = { tokens: Int32Array.of(1), past: Int32Array.of(10), logit_rows: Int32Array.of(0) };
  await session.commitNoWait({ inputs, fetch: ["logits"] });
  await session.syncPending();
  const late = forked.run({ inputs, fetch: ["logits"] });
  forked.dispose();
  session.dispose();
  compiled.dispose();
  await late;
  const products = mlxDevice(mlx, { mode, weights: blockFile }).compile(blocks);
  const product = products.open();
  for (const rows of [1, 3])
    await product.run({
      inputs: { x: new Float32Array(rows * 256).fill(0.1), rows: Int32Array.of(0, 6) },
      fetch: ["y", "z"],
    });
  await products.weights();
  product.dispose();
  products.dispose();
}

const plan = compileMlx(decoder, mlxRules, weights.locate).bytes;
const random = seededRandom(3);
const files = mlx.openWeights(weights.paths);
for (let round = 0; round < 2000; round++) {
  const changed = plan.slice();
  for (let i = 0; i <= random.integer(3); i++) changed[random.integer(changed.length)] = random.integer(256);
  try {
    mlx
      .loadPlan(random.integer(5) === 0 ? changed.subarray(0, random.integer(changed.length)) : changed, files)
      .dispose();
  } catch {
    refused++;
  }
}
files.dispose();
weights.remove();
blockFile.remove();
process.stdout.write(`${runs} runs, ${refused} refused, ${JSON.stringify(mlx.counts())}\n`);
