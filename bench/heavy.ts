/**
 * The heavy kernels of the CPU engine against others on the same machine, in turn: products of matrices against NumPy (OpenBLAS),
 * windows and attention against onnxruntime, Fourier transforms against SciPy (pocketfft), the delta rule against ggml's function
 * (llama.cpp). The least of many short runs counts, so that a busy machine favours neither. Grouped products are rows of
 * bench/types.ts.
 *
 *   python3 -m venv DIR && DIR/bin/pip install numpy scipy onnx onnxruntime
 *   npx tsx bench/heavy.ts --python DIR/bin/python [--threads 1] [--rounds 7] [--seconds 0.3] [--only NAME]
 */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compileNow } from "../main/compiler/compile.ts";
import { GraphBuilder } from "../main/ir/builder.ts";
import type { Value } from "../main/ir/graph.ts";
import type { GraphSession } from "../main/ir/session.ts";
import { tensor } from "../main/ir/type.ts";
import { loadAddon } from "../main/node/native/addon.ts";
import type { OpBuilder } from "../main/ops/opBuilder.ts";
import { opTable, typedBuilder } from "../main/ops/index.ts";
import { cpuDevice } from "../main/runtime/devices/cpu.ts";
import { median } from "../main/runtime/statistics.ts";

const { values: options } = parseArgs({
  options: {
    python: { type: "string", default: "python3" },
    threads: { type: "string", default: "1" },
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "0.3" },
    only: { type: "string", default: "" },
  },
});
const threads = Number(options.threads);
const seconds = Number(options.seconds);

interface Case {
  readonly name: string;
  readonly shapes: readonly (readonly number[])[];
  /** Of each operand, where any numbers would not do. */
  readonly ranges?: readonly (readonly [low: number, high: number])[];
  readonly build: (g: OpBuilder, operands: readonly Value[]) => Value;
  /** What the other side runs. */
  readonly peer: Readonly<Record<string, unknown>>;
}

const product = (m: number, k: number, n: number): Case => ({
  name: `matmul ${m} x ${k} x ${n}`,
  shapes: [
    [m, k],
    [k, n],
  ],
  build: (g, [a, b]) => g.matmul([need(a), need(b)]),
  peer: { kind: "matmul" },
});

function windows(name: string, image: readonly number[], kernel: readonly number[], groups = 1, stride = 1): Case {
  const padding = kernel.slice(2).map((size) => (size - 1) / 2);
  const strides = padding.map(() => stride);
  return {
    name: `conv ${name}: ${image.join("x")}, ${kernel.join("x")}`,
    shapes: [image, kernel],
    build: (g, [x, w]) => g.conv([need(x), need(w)], { strides, padding, dilations: padding.map(() => 1), groups }),
    peer: { kind: "conv", padding, strides, groups },
  };
}

function attention(rows: number, heads: number, size: number, causal: boolean): Case {
  const shape = [1, heads, rows, size];
  return {
    name: `attention ${causal ? "causal " : ""}${rows} rows, ${heads} heads of ${size}`,
    shapes: [shape, shape, shape],
    build: (g, [q, k, v]) =>
      g.attention([need(q), need(k), need(v)], { scale: 1 / Math.sqrt(size), mask: causal ? "causal" : "none" }),
    peer: { kind: "attention", causal },
  };
}

const transform = (rows: number, n: number): Case => ({
  name: `fft ${rows} rows of ${n}`,
  shapes: [[rows, 2 * n]],
  build: (g, [x]) => g.fft([need(x)], { inverse: false, norm: "backward" }),
  peer: { kind: "fft" },
});

function delta(tokens: number, heads: number, size: number, gates: "head" | "channel"): Case {
  const rows = [tokens, heads, size];
  return {
    name: `delta rule ${tokens} tokens, ${heads} heads of ${size}, a gate for each ${gates}`,
    shapes: [rows, rows, rows, gates === "head" ? [tokens, heads] : rows, [tokens, heads], [heads, size, size]],
    // Keys of length 1, gates that keep most.
    ranges: [
      [-1, 1],
      [-Math.sqrt(3 / size), Math.sqrt(3 / size)],
      [-1, 1],
      [-0.3, 0],
      [0, 1],
      [-1, 1],
    ],
    build: (g, [q, k, v, gate, beta, state]) =>
      need(g.gated_delta([need(q), need(k), need(v), need(gate), need(beta), need(state)])[0]),
    peer: { kind: "delta" },
  };
}

const need = (value: Value | undefined): Value => {
  if (value === undefined) throw new Error("an operand is missing");
  return value;
};

const CASES: readonly Case[] = [
  product(512, 512, 512),
  product(1024, 1024, 1024),
  product(128, 2048, 2048),
  product(1, 4096, 4096),
  windows("3x3", [1, 64, 56, 56], [64, 64, 3, 3]),
  windows("1x1", [1, 256, 28, 28], [256, 256, 1, 1]),
  windows("7x7 by steps of 2", [1, 3, 224, 224], [64, 3, 7, 7], 1, 2),
  windows("by channel", [1, 128, 56, 56], [128, 1, 3, 3], 128),
  attention(512, 8, 64, false),
  attention(512, 8, 64, true),
  attention(2048, 8, 64, true),
  transform(256, 1024),
  transform(64, 4096),
  transform(64, 1000),
  transform(16, 65536),
  delta(512, 32, 128, "head"),
  delta(512, 32, 128, "channel"),
  delta(1, 32, 128, "head"),
];

const environment = { OMP_NUM_THREADS: String(threads), OPENBLAS_NUM_THREADS: String(threads) };
const script = join(dirname(fileURLToPath(import.meta.url)), "heavyPeers.py");
const peer = spawn(options.python, [script, String(threads)], {
  stdio: ["pipe", "pipe", "inherit"],
  env: { ...process.env, ...environment },
});
const answers = createInterface({ input: peer.stdout })[Symbol.asyncIterator]();
async function peerSeconds(one: Case): Promise<number> {
  peer.stdin.write(`${JSON.stringify({ ...one.peer, shapes: one.shapes, ranges: one.ranges, seconds })}\n`);
  const { value } = (await answers.next()) as { readonly value: unknown };
  return Number(value);
}

function opened({ name, shapes, build }: Case): GraphSession {
  const builder = new GraphBuilder(opTable, name);
  const operands = shapes.map((shape, i) => builder.input(`x${i}`, tensor("f32", shape)));
  builder.output("y", build(typedBuilder(builder), operands));
  const { graph } = compileNow(builder.finish(), { backend: "cpu" });
  return cpuDevice(loadAddon(), { threads }).compile(graph).open();
}

async function measure(one: Case): Promise<void> {
  const session = opened(one);
  const inputs = Object.fromEntries(
    one.shapes.map((shape, i) => {
      const count = shape.reduce((n, dim) => n * dim, 1);
      const [low, high] = one.ranges?.[i] ?? [-2, 2];
      const value = (k: number): number => low + ((high - low) * (1 + Math.sin(k * 12.9898 + i))) / 2;
      return [`x${i}`, Float32Array.from({ length: count }, (_, k) => value(k))];
    }),
  );
  const ourSeconds = async (): Promise<number> => {
    let best = Infinity;
    const end = performance.now() + 1000 * seconds;
    while (performance.now() < end) {
      // The engine's own time: copies of operands and results are no part of a kernel.
      best = Math.min(best, (await session.run({ inputs })).seconds);
    }
    return best;
  };
  await session.run({ inputs });
  await peerSeconds(one);
  const pairs: { readonly ours: number; readonly theirs: number }[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    const before = round % 2 === 0 ? undefined : await peerSeconds(one);
    const ours = await ourSeconds();
    pairs.push({ ours, theirs: before ?? (await peerSeconds(one)) });
  }
  session.dispose();
  const milliseconds = (all: readonly number[]): number => Number((Math.min(...all) * 1000).toPrecision(3));
  console.log(
    JSON.stringify({
      kernel: one.name,
      ours: milliseconds(pairs.map(({ ours }) => ours)),
      theirs: milliseconds(pairs.map(({ theirs }) => theirs)),
      ratio: Number(median(pairs.map(({ ours, theirs }) => theirs / ours)).toFixed(2)),
    }),
  );
}

for (const one of CASES) if (one.name.startsWith(options.only)) await measure(one);
peer.stdin.end();
