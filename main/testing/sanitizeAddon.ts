// A short life of the addon, to run under the sanitizers: graphs on every instruction set, cancels, disposals while a run is
// on its way, plans that lie, conversions. Prints its counts and ends with a code.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { compileCpu } from "../backends/cpu/compile.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { loadAddon } from "../node/addon.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import { cpuDevice, cpuRules } from "../runtime/cpuDevice.ts";
import { seededRandom } from "../testing/random.ts";

const path = process.argv[2] === undefined ? null : resolve(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), "rlx-sanitize-"));
const WIDTH = 96;
const file = join(folder, "w.bin");
writeFileSync(file, new Uint8Array(Float32Array.from({ length: WIDTH * WIDTH }, (_, i) => Math.sin(i) / 10).buffer));

/** A gated, normed, residual layer with a cache: it goes through both patterns of the backend. */
function layer(): Graph {
  const builder = new GraphBuilder(opTable, "layer");
  const g = typedBuilder(builder);
  builder.limitSymbol("T", 64);
  const x = builder.input("x", tensor("f32", ["T", WIDTH]));
  const past = builder.input("past", tensor("i32", []));
  const w = builder.param("w", tensor("f32", [WIDTH, WIDTH]), { file: "f", tensor: "w" });
  const heads = (y: typeof x): typeof x => g.reshape([y], { shape: ["T", 6, 16] });
  const ones = builder.constant(hostTensor("f32", [WIDTH], new Float64Array(WIDTH).fill(1)));
  const norm = g.rms_norm([x, ones], { eps: 1e-6 });
  const cache = (name: string, y: typeof x): typeof x => {
    const state = builder.state(name, tensor("f16", [6, 80, 16]));
    const next = g.kv_append([state, heads(y), past]);
    builder.setState(name, next);
    return next;
  };
  const [k, v] = [cache("k", g.linear([norm, w])), cache("v", g.linear([norm, w]))];
  const attended = g.attention_cached([heads(g.linear([norm, w])), k, v, past], { scale: 0.25 });
  const mixed = g.add([x, g.linear([g.reshape([attended], { shape: ["T", WIDTH] }), w])]);
  builder.output("y", g.mul([g.silu([g.linear([mixed, w])]), g.linear([mixed, w])]));
  return builder.finish();
}

let done = 0;
let refused = 0;
const best = loadAddon({ path });
for (const isa of best.isas) {
  const engine = loadAddon({ path, isa });
  const weights = { paths: [file], locate: () => ({ file: 0, offset: 0, bytes: WIDTH * WIDTH * 4 }) };
  const compiled = cpuDevice(engine, { threads: 2, weights }).compile(layer());
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

  const plan = compileCpu(layer(), cpuRules, weights.locate).bytes;
  const handle = engine.openWeights([file]);
  const random = seededRandom(3);
  for (let i = 0; i < 1500; i++) {
    const bytes = plan.slice();
    const view = new DataView(bytes.buffer);
    for (let n = 0; n <= i % 3; n++) {
      // Bytes anywhere, or whole fields with values that are nearly right: the second kind gets further.
      if (i % 2 === 0) bytes[random.integer(bytes.length)] = random.integer(256);
      else {
        const at = 4 * random.integer(Math.floor(bytes.length / 4));
        const old = view.getUint32(at, true);
        view.setUint32(at, random.pick([0, 1, 2, old + 1, old * 2, old >>> 1, 0xffffffff, random.integer(64)]), true);
      }
    }
    const tokens = i % 5 === 0 ? 5 : 1;
    try {
      const loaded = engine.loadPlan(bytes, handle);
      try {
        const session = loaded.openSession({ threads: 2 });
        const inputs = { x: new Float32Array(tokens * WIDTH), past: Int32Array.of(0) };
        await session.run({ inputs, symbols: { T: tokens } }).finally(() => session.dispose());
      } finally {
        loaded.dispose();
      }
    } catch {
      refused++;
    }
  }
  handle.dispose();
  const wide = new Float32Array(64);
  engine.dequantize("q8_0", new Uint8Array(68), wide);
  engine.halve("f16", wide, new Uint16Array(64));
}
rmSync(folder, { recursive: true, force: true });
const left = best.counts();
if (left.weights + left.plans + left.sessions + left.jobs !== 0) throw new Error(`left over: ${JSON.stringify(left)}`);
console.log(`${done} sessions on ${best.isas.join(", ")}, ${refused} lying plans refused`);
process.exit(0);
