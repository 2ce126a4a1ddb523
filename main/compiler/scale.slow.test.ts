/** Everything that walks a graph does so in near-linear time: four times the nodes, about four times the time. */
import { describe, expect, it } from "vitest";
import { graphHash } from "../ir/hash.ts";
import { printGraph } from "../ir/print.ts";
import { specialize } from "../ir/specialize.ts";
import { verify } from "../ir/verify.ts";
import type { Graph } from "../ir/graph.ts";
import { opTable } from "../ops/index.ts";
import { PASSES, runPipeline } from "../passes/pipeline.ts";
import { tinyModel } from "../testing/tinyModels.ts";
import { legalise } from "./legalise.ts";

const LAYERS = 2750;

function seconds(work: () => unknown): number {
  let best = Infinity;
  for (let i = 0; i < 3; i++) {
    const start = performance.now();
    work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

describe("100 000 nodes", () => {
  const large = tinyModel("qwen3", LAYERS);
  const small = tinyModel("qwen3", LAYERS / 5);
  const walks: readonly (readonly [string, (graph: Graph) => unknown])[] = [
    ["build", (graph) => tinyModel("qwen3", graph === large ? LAYERS : LAYERS / 5)],
    ["verify", (graph) => verify(opTable, graph)],
    ["hash", graphHash],
    ["print", (graph) => printGraph(graph)],
    ["specialise", (graph) => specialize(opTable, graph, { T: 1, R: 1 })],
    ["legalise for the CPU", (graph) => legalise(graph, "cpu")],
    ["legalise for Core ML", (graph) => legalise(graph, "coreml")],
    ...PASSES.map((pass) => [pass.name, (graph: Graph) => pass.run(graph)] as const),
    ["the pipeline", (graph) => runPipeline(graph, { passes: PASSES })],
  ];
  it("is what the model has", () => expect(large.nodes.length).toBeGreaterThan(100_000));
  // Again when it misses: another program that wakes up during the larger of two measurements stretches that one only.
  it.each(walks)("%s: grows with the graph, not with its square", { retry: 2 }, (_, walk) => {
    // Five times the nodes: 5 when linear, 25 when quadratic. The slack is for the garbage collector and other programs.
    const ratio =
      seconds(() => walk(large)) /
      Math.max(
        seconds(() => walk(small)),
        2,
      );
    expect(ratio).toBeLessThan(14);
  });
});
