/**
 * Checks that every walk over a graph takes near-linear time: 100 000 nodes against a fifth of them. A
 * linear walk takes 5 times as long, a quadratic one 25 times.
 *
 *   npx tsx bench/scale.ts
 */
import { graphHash } from "../main/ir/hash.ts";
import { parseGraph } from "../main/ir/text/build.ts";
import { printWhole } from "../main/ir/text/print.ts";
import { specialize } from "../main/ir/specialize.ts";
import { verify } from "../main/ir/verify.ts";
import type { Graph } from "../main/ir/graph.ts";
import { legalise } from "../main/compiler/legalise.ts";
import { opTable } from "../main/ops/index.ts";
import { pipelineFor } from "../main/compiler/pipelines.ts";
import { runPipeline } from "../main/passes/pipeline.ts";
import { tinyModel } from "../main/testing/tinyModels.ts";

const LAYERS = 2750;
const REPEATS = 3;
/** Between 5 and 25, near 5: the slack is for the garbage collector. */
const MOST = 14;

function fastest(work: () => unknown): number {
  let best = Infinity;
  for (let i = 0; i < REPEATS; i++) {
    const start = performance.now();
    work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

const PASSES = pipelineFor("cpu");
const large = tinyModel("qwen3", LAYERS);
const small = tinyModel("qwen3", LAYERS / 5);
const texts = new Map([large, small].map((graph) => [graph, printWhole(graph)]));
const walks: readonly (readonly [string, (graph: Graph) => unknown])[] = [
  ["build", (graph) => tinyModel("qwen3", graph === large ? LAYERS : LAYERS / 5)],
  ["verify", (graph) => verify(opTable, graph)],
  ["hash", graphHash],
  ["print", (graph) => printWhole(graph)],
  ["parse", (graph) => parseGraph(opTable, texts.get(graph) ?? "")],
  ["specialise", (graph) => specialize(opTable, graph, { T: 1, R: 1 })],
  ["legalise for the CPU", (graph) => legalise(graph, "cpu")],
  ["legalise for Core ML", (graph) => legalise(graph, "coreml")],
  ...PASSES.map((pass) => [pass.name, (graph: Graph) => pass.run(graph)] as const),
  ["the pipeline", (graph) => runPipeline(graph, { passes: PASSES })],
];
const results = walks.map(([walk, run]) => {
  const milliseconds = fastest(() => run(large));
  const ratio = milliseconds / fastest(() => run(small));
  return { walk, milliseconds, ratio, nearLinear: ratio < MOST };
});
console.log(JSON.stringify({ nodes: large.nodes.length, fewerNodes: small.nodes.length, results }, null, 2));
if (results.some(({ nearLinear }) => !nearLinear)) process.exitCode = 1;
