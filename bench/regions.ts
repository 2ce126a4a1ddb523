/**
 * Element-wise regions on the CPU engine: graphs compiled with the pass that marks them and without, in turn. The engine's own
 * time counts, and of many runs the least.
 *
 *   npx tsx bench/regions.ts [--threads 2] [--rounds 7] [--seconds 0.3] [--only NAME]
 */
import { parseArgs } from "node:util";
import { elementwiseRegion } from "../main/backends/cpu/fusions/elementwiseRegion.ts";
import { compileNow } from "../main/compiler/compile.ts";
import { pipelineFor } from "../main/compiler/pipelines.ts";
import { GraphBuilder } from "../main/ir/builder.ts";
import type { DType } from "../main/ir/dtype.ts";
import { plainDType } from "../main/ir/dtype.ts";
import type { Graph } from "../main/ir/graph.ts";
import { tensorBytes } from "../main/ir/hostBytes.ts";
import { hostTensor, sizeOf } from "../main/ir/hostTensor.ts";
import type { GraphSession } from "../main/ir/session.ts";
import { staticShape, tensor } from "../main/ir/type.ts";
import { loadAddon } from "../main/node/native/addon.ts";
import { opTable, typedBuilder } from "../main/ops/index.ts";
import { cpuDevice } from "../main/runtime/devices/cpu.ts";
import { median } from "../main/runtime/statistics.ts";
import { graphAlgebra } from "../main/training/graphAlgebra.ts";
import { OPTIMIZERS } from "../main/training/optimisers/index.ts";

const { values: options } = parseArgs({
  options: {
    threads: { type: "string", default: "2" },
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "0.3" },
    only: { type: "string", default: "" },
  },
});

/** The update alone: weights and moments are states, the gradients are what a walk back would give. */
function adamw(shapes: readonly (readonly number[])[]): Graph {
  const builder = new GraphBuilder(opTable, "update");
  const g = typedBuilder(builder);
  const optimizer = OPTIMIZERS.adamw();
  const names = Object.keys(optimizer.scalars({ step: 1, learningRate: 0 }));
  const scalars = Object.fromEntries(names.map((name) => [name, builder.input(name, tensor("f32", []))]));
  for (const [i, shape] of shapes.entries()) {
    const type = tensor("f32", shape);
    const state = (name: string) => builder.state(`${name}${i}`, type);
    const slots = Object.fromEntries(optimizer.slots(shape).map(({ name }) => [name, state(name)]));
    const parameter = state("weight");
    const gradient = builder.input(`gradient${i}`, type);
    const next = optimizer.update(graphAlgebra(g, "f32"), { parameter, gradient, slots, scalars });
    builder.setState(`weight${i}`, next.parameter);
    for (const [name, value] of Object.entries(next.slots)) builder.setState(`${name}${i}`, value);
  }
  builder.output("step", scalars["learningRate"] ?? g.iota([], { shape: [1], axis: 0 }));
  return builder.finish();
}

/** gelu(x + bias) · (up + bias) + x, by the tanh form. */
function gated(rows: number, columns: number, dtype: DType): Graph {
  const builder = new GraphBuilder(opTable, "gated");
  const g = typedBuilder(builder);
  const [x, up] = ["x", "up"].map((name) => builder.input(name, tensor(dtype, [rows, columns])));
  const [a, b] = ["a", "b"].map((name) => builder.input(name, tensor(dtype, [columns])));
  if (!x || !up || !a || !b) throw new Error("four operands");
  builder.output("y", g.add([g.mul([g.gelu([g.add([x, a])], { approx: true }), g.add([up, b])]), x]));
  return builder.finish();
}

const CASES: readonly (readonly [name: string, graph: Graph])[] = [
  ["AdamW of 784-4096-10", adamw([[4096, 784], [4096], [10, 4096], [10]])],
  ["AdamW of 784-256-10", adamw([[256, 784], [256], [10, 256], [10]])],
  ["gelu gate, 512 x 4096, f32", gated(512, 4096, "f32")],
  ["gelu gate, 512 x 4096, f16", gated(512, 4096, "f16")],
  ["gelu gate, 16 x 1024, f32", gated(16, 1024, "f32")],
];

function opened(graph: Graph, marks: boolean): { readonly session: GraphSession; readonly instructions: number } {
  const passes = pipelineFor("cpu").filter(({ name }) => marks || name !== elementwiseRegion.name);
  const compiled = cpuDevice(loadAddon(), { threads: Number(options.threads) }).compile(
    compileNow(graph, { backend: "cpu", passes }).graph,
  );
  return { session: compiled.open(), instructions: compiled.steps.length };
}

const inputsOf = (graph: Graph): Readonly<Record<string, Uint8Array>> =>
  Object.fromEntries(
    graph.inputs.map((id) => {
      const node = graph.nodes[id];
      const type = node?.outputs[0];
      if (node === undefined || type === undefined) throw new Error("an input has a type");
      const shape = staticShape(type, "bench");
      const data = Array.from({ length: sizeOf(shape) }, (_, k) => Math.sin(k * 12.9898) * 2);
      return [String(node.attrs["name"]), tensorBytes(hostTensor(plainDType(type.dtype, "bench"), shape, data))];
    }),
  );

async function best(session: GraphSession, inputs: Readonly<Record<string, Uint8Array>>): Promise<number> {
  let least = Infinity;
  const end = performance.now() + 1000 * Number(options.seconds);
  while (performance.now() < end) least = Math.min(least, (await session.run({ inputs })).seconds);
  return least;
}

for (const [name, graph] of CASES) {
  if (!name.startsWith(options.only)) continue;
  const [alone, marked] = [opened(graph, false), opened(graph, true)];
  const inputs = inputsOf(graph);
  const pairs: { readonly before: number; readonly after: number }[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    const first = round % 2 === 0 ? undefined : await best(marked.session, inputs);
    const before = await best(alone.session, inputs);
    pairs.push({ before, after: first ?? (await best(marked.session, inputs)) });
  }
  alone.session.dispose();
  marked.session.dispose();
  const milliseconds = (all: readonly number[]): number => Number((Math.min(...all) * 1000).toPrecision(3));
  console.log(
    JSON.stringify({
      graph: name,
      before: milliseconds(pairs.map((pair) => pair.before)),
      after: milliseconds(pairs.map((pair) => pair.after)),
      ratio: Number(median(pairs.map(({ before, after }) => before / after)).toFixed(2)),
      instructions: [alone.instructions, marked.instructions],
    }),
  );
}
