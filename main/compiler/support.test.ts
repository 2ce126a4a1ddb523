// Answers that are shared among nodes of one kind are those that each node gets when it is asked about by itself: on a model
// whose blocks differ in the types of two weights, as in Q4_K_M files, and on one whose heads are normed.
import { describe, expect, it } from "vitest";
import { requireDecoder } from "../models/architecture.ts";
import { weightSourceOf } from "../formats/gguf/weightSource.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Shape } from "../ir/dim.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { Sequences } from "../ir/numbering.ts";
import { finish } from "../ir/steps.ts";
import { tensor } from "../ir/type.ts";
import { headerOnlyModel, LLAMA_1B } from "../models/headerOnly.ts";
import { STABLE_BACKENDS } from "../ops/defineOp.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import { tinyModel } from "../testing/tinyModels.ts";
import { legalise } from "./legalise.ts";
import { supportOf, supportsOf } from "./support.ts";

async function mixedModel(): Promise<Graph> {
  const file = await headerOnlyModel(LLAMA_1B);
  const options = { capacity: 512, cacheType: "f16", largestStep: 64, largestRows: 1 } as const;
  return finish(requireDecoder(file).graph(weightSourceOf(file), options));
}

describe("shared answers", () => {
  for (const backend of STABLE_BACKENDS)
    it(`are those of each node for ${backend}`, async () => {
      const mixed = await mixedModel();
      const types = mixed.nodes.flatMap(({ op, outputs }) => (op === "param" ? [outputs[0]?.dtype] : []));
      expect(new Set(types)).toEqual(new Set(["q6_k", "q4_k", "f32"]));
      const supports = supportsOf(backend);
      for (const graph of [mixed, tinyModel("qwen3", 3)])
        for (const node of graph.nodes) {
          const { state, reason } = supportOf(graph, node, backend);
          expect(supports(graph, node)).toMatchObject({ state, reason });
        }
    });
});

it("a recurrence on Core ML says what it runs as", () => {
  const builder = new GraphBuilder(opTable, "recurrence");
  const g = typedBuilder(builder);
  const input = (name: string, shape: Shape): Value => builder.input(name, tensor("f32", shape));
  const [q, k, v] = [input("q", [12, 2, 8]), input("k", [12, 2, 8]), input("v", [12, 2, 8])];
  const made = g.gated_delta([q, k, v, input("gate", [12, 2]), input("beta", [12, 2]), input("state", [2, 8, 8])]);
  made.forEach((value, i) => builder.output(`y${i}`, value));
  const graph = builder.finish();
  const node = graph.nodes.find(({ op }) => op === "gated_delta")!;
  expect(supportOf(graph, node, "coreml")).toMatchObject({
    state: "decomposed",
    reason: expect.stringContaining("a loop with a turn for each") as string,
  });
  const legal = finish(legalise(graph, "coreml")).graph;
  expect(legal.nodes.map(({ op }) => op)).toContain("while");
});

it.each(["sort", "argsort"] as const)("%s of a symbolic axis says what Core ML wants to know before", (op) => {
  const builder = new GraphBuilder(opTable, op);
  const x = builder.input("x", tensor("f32", ["T", 3]));
  const g = typedBuilder(builder);
  [0, 1].forEach((axis) => builder.output(`y${axis}`, g[op]([x], { axis, descending: false })));
  const graph = builder.finish();
  const [symbolic, fixed] = graph.nodes.filter((node) => node.op === op);
  expect(supportOf(graph, symbolic!, "coreml")).toMatchObject({
    state: "unsupported",
    reason: expect.stringMatching(
      /^the axis has the size T: Core ML's topk .* as a constant of the program/u,
    ) as string,
  });
  expect(supportOf(graph, fixed!, "coreml")).toMatchObject({
    state: "decomposed",
    reason: expect.stringContaining("does not say where equals and NaN go") as string,
  });
});

it("a region says which steps it runs, and on other backends that they run", () => {
  const builder = new GraphBuilder(opTable, "region");
  const x = builder.input("x", tensor("f32", [3]));
  const steps = ["mul 0 0", "tanh 1", "add 2 0"];
  const [y] = typedBuilder(builder).elementwise_region([x], { steps, results: [3] });
  builder.output("y", y!);
  const graph = builder.finish();
  const node = graph.nodes.at(-1)!;
  const reason = "cpu runs its 3 steps in one walk: mul, tanh, add";
  expect(supportOf(graph, node, "cpu")).toEqual({ state: "native", reason });
  for (const [backend, title] of [
    ["coreml", "Core ML"],
    ["mlx", "MLX"],
  ] as const) {
    expect(supportOf(graph, node, backend).reason).toMatch(new RegExp(`^${title} runs its steps as`));
    expect(finish(legalise(graph, backend)).graph.nodes.map(({ op }) => op)).toEqual(["input", "mul", "tanh", "add"]);
  }
});

describe("numbers of sequences", () => {
  it("are the same for equal sequences and for no others", () => {
    const sequences = new Sequences();
    const numberOf = (symbols: readonly number[]): number =>
      symbols.reduce((state, symbol) => sequences.step(state, symbol), 0);
    const all = [[], [0], [1], [0, 0], [0, 1], [1, 0], [0, 0, 0], [67_108_863], [67_108_863, 0]];
    const numbers = all.map(numberOf);
    expect(new Set(numbers).size).toBe(all.length);
    expect(all.map(numberOf)).toEqual(numbers);
  });
});
