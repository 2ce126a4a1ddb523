// Regions on the CPU: the bits of the single operations, at every instruction set, for every kind of float and stretching.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { compileNow } from "../../compiler/compile.ts";
import { GraphBuilder } from "../../ir/builder.ts";
import type { DType } from "../../ir/dtype.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import { loadAddon } from "../../node/native/addon.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import type { OpBuilder } from "../../ops/opBuilder.ts";
import { compileArtifact, loadArtifact } from "../../runtime/devices/cpu.ts";
import type { Random } from "../../testing/random.ts";
import { seededRandom } from "../../testing/random.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-cpu-regions-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const noWeights = join(folder, "none.bin");
writeFileSync(noWeights, new Uint8Array(64));
const engines = loadAddon().isas.map((isa) => loadAddon({ isa }));

/** Shapes that are stretched to the first: whole, a row, a column, a number; longer than a tile, and its rows are not. */
const SHAPES = [[5, 3, 411], [411], [5, 1, 411], [3, 1], [5, 3, 1], []] as const;
const size = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

const ONE = [
  "neg",
  "abs",
  "sign",
  "square",
  "sqrt",
  "rsqrt",
  "reciprocal",
  "exp",
  "expm1",
  "log",
  "log1p",
  "sin",
] as const;
const MORE = ["cos", "tan", "atan", "sinh", "tanh", "sigmoid", "silu", "relu", "softplus", "erf", "floor"] as const;
const LAST = ["ceil", "trunc", "round", "asin", "acos", "asinh", "acosh", "atanh", "cosh"] as const;
const UNARY = [...ONE, ...MORE, ...LAST];
const BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "pow", "mod", "atan2"] as const;

/** A chain in which each step reads what is there, and some of it is read outside. */
function chain(g: OpBuilder, inputs: readonly Value[], random: Random, length: number): readonly Value[] {
  const whole = [g.add([inputs[0]!, inputs[1]!])];
  const any = (): Value => random.pick([...whole.slice(-4), ...inputs]);
  for (let i = 0; i < length; i++) {
    const x = whole.at(-1)!;
    const dtype = g.typeOf(x).dtype as DType;
    const kind = random.integer(10);
    if (kind < 4) whole.push(g[random.pick(UNARY)]([x]));
    else if (kind < 8) whole.push(g[random.pick(BINARY)](random.integer(2) === 1 ? [x, any()] : [any(), x]));
    else if (kind === 8)
      whole.push(g.where([g.compare([x, any()], { op: "le" }), any(), g.gelu([x], { approx: i % 2 === 0 })]));
    else whole.push(g.cast([g.cast([x], { to: dtype === "f16" ? "f32" : "f16" })], { to: dtype }));
  }
  return [whole.at(-1)!, whole.at(-3)!];
}

function randomChain(
  seed: number,
  dtype: DType,
): { readonly graph: Graph; readonly inputs: Record<string, HostTensor> } {
  const random = seededRandom(seed);
  const b = new GraphBuilder(opTable, "chain");
  const shapes = [SHAPES[0], ...Array.from({ length: 4 }, () => random.pick(SHAPES))];
  const values = shapes.map((shape, i) => b.input(`x${i}`, tensor(dtype, shape)));
  chain(typedBuilder(b), values, random, 14).forEach((value, i) => b.output(`y${i}`, value));
  const numbers = (count: number): number[] =>
    Array.from({ length: count }, (_, i) => (i % 97 === 5 ? [NaN, Infinity, -0][i % 3]! : random.normal() * 2));
  const inputs = shapes.map((shape, i) => [`x${i}`, hostTensor(dtype, shape, numbers(size(shape)))] as const);
  return { graph: b.finish(), inputs: Object.fromEntries(inputs) };
}

async function run(
  engine: (typeof engines)[number],
  graph: Graph,
  inputs: Readonly<Record<string, HostTensor>>,
  threads = 2,
): Promise<{ readonly outputs: readonly string[]; readonly kernels: readonly string[] }> {
  const locate = (): never => {
    throw new Error("there are no weights");
  };
  const artifact = compileArtifact(graph, { weights: { paths: [], locate } });
  const compiled = loadArtifact(engine, artifact, { threads, files: { paths: [noWeights] } });
  const session = compiled.open();
  const fetch = graph.outputs.map(({ name }) => name);
  const bytes = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, tensorBytes(value)]));
  const { outputs } = await session.run({ inputs: bytes, fetch });
  session.dispose();
  compiled.dispose();
  return {
    outputs: fetch.map((name) => Buffer.from(outputs[name]!.bytes).toString("base64")),
    kernels: artifact.steps.map(({ kernel }) => kernel),
  };
}

describe.each(engines.map((engine) => [engine.isa, engine] as const))("regions on %s", (_isa, engine) => {
  test.each(["f32", "f16", "bf16", "f64"] as const)(
    "12 chains of %s: the bits of the single operations",
    async (dtype) => {
      for (let seed = 1; seed <= 12; seed++) {
        const { graph, inputs } = randomChain(seed, dtype);
        const [alone, marked] = [
          compileNow(graph, { backend: "cpu", passes: [] }),
          compileNow(graph, { backend: "cpu", verify: true }),
        ];
        const want = await run(engine, alone.graph, inputs);
        const got = await run(engine, marked.graph, inputs, 3);
        expect(want.kernels).not.toContain("elementwise_region");
        expect(got.kernels, `${seed}`).toContain("elementwise_region");
        for (const [i, bytes] of want.outputs.entries())
          expect(got.outputs[i] === bytes, `${dtype} ${seed} y${i}`).toBe(true);
      }
    },
  );
});

test("a result that lies where an operand lay is written when the operand is no longer read", async () => {
  const b = new GraphBuilder(opTable, "in place");
  const g = typedBuilder(b);
  const x = b.input("x", tensor("f32", [3, 2000]));
  const start = g.softmax([x], { axis: -1 });
  const first = g.mul([start, start]);
  const y = g.sub([g.exp([first]), start]);
  b.output("y", g.reduce([g.softmax([y], { axis: -1 })], { kind: "max", axes: [1] }));
  b.output("first", g.reduce([first], { kind: "sum", axes: [1] }));
  const graph = b.finish();
  const inputs = {
    x: hostTensor(
      "f32",
      [3, 2000],
      Array.from({ length: 6000 }, (_, i) => Math.sin(i)),
    ),
  };
  for (const engine of engines) {
    const want = await run(engine, compileNow(graph, { backend: "cpu", passes: [] }).graph, inputs);
    const got = await run(engine, compileNow(graph, { backend: "cpu" }).graph, inputs);
    expect(got.kernels.filter((kernel) => kernel === "elementwise_region")).toHaveLength(1);
    expect(got.outputs).toEqual(want.outputs);
  }
});
