// Answers that are shared among nodes of one kind are those that each node gets when it is asked about by itself: on a model
// whose blocks differ in the types of two weights, as in Q4_K_M files, and on one whose heads are normed.
import { describe, expect, it } from "vitest";
import { requireDecoder } from "../models/architecture.ts";
import { weightSourceOf } from "../formats/gguf/weightSource.ts";
import type { Graph } from "../ir/graph.ts";
import { Sequences } from "../ir/numbering.ts";
import { finish } from "../ir/steps.ts";
import { headerOnlyModel, LLAMA_1B } from "../models/headerOnly.ts";
import { STABLE_BACKENDS } from "../ops/defineOp.ts";
import { tinyModel } from "../testing/tinyModels.ts";
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
