/**
 * Checks that every walk over a graph takes near-linear time: 100 000 nodes against a tenth of them. A
 * linear walk takes 10 times as long, a quadratic one 100 times. A decoder, and with `--chains` element-wise
 * chains with a softmax here and there, all in regions.
 *
 *   npx tsx bench/scale.ts [--chains] [--only "the pipeline"]
 */
import { parseArgs } from "node:util";
import { GraphBuilder } from "../main/ir/builder.ts";
import { graphHash } from "../main/ir/hash.ts";
import { parseGraph } from "../main/ir/text/build.ts";
import { printWhole } from "../main/ir/text/print.ts";
import { finish } from "../main/ir/steps.ts";
import { tensor } from "../main/ir/type.ts";
import { specialize } from "../main/ir/specialize.ts";
import { verify } from "../main/ir/verify.ts";
import type { Graph } from "../main/ir/graph.ts";
import { legalise } from "../main/compiler/legalise.ts";
import { opTable, typedBuilder } from "../main/ops/index.ts";
import { pipelineFor } from "../main/compiler/pipelines.ts";
import { runPipeline } from "../main/passes/pipeline.ts";
import { tinyModel } from "../main/testing/tinyModels.ts";

const LAYERS = 2750;
const REPEATS = 5;
/** Of the whole pipeline. */
const MOST = 13;
/** Of a short walk: 10 000 nodes may lie in the second cache as 100 000 never do. A quadratic one is at 100. */
const MOST_OF_WALK = 50;
const PIPELINE = "the pipeline";

/** Milliseconds of processor time, of which other programs take less than of a clock's. */
function cost(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const PASSES = pipelineFor("cpu");

/** Blocks of eight operations: what two of them read is read again a block later. */
function chains(blocks: number): Graph {
  const builder = new GraphBuilder(opTable, "chains");
  const g = typedBuilder(builder);
  let [x, before] = ["x", "before"].map((name) => builder.input(name, tensor("f32", ["T", 64])));
  if (x === undefined || before === undefined) throw new Error("two operands");
  for (let i = 0; i < blocks; i++) {
    const gate = g.sigmoid([g.mul([x, before])]);
    const next = g.add([g.mul([gate, g.tanh([x])]), before]);
    [before, x] = [next, g.softmax([g.sub([next, g.square([gate])])], { axis: -1 })];
  }
  builder.output("y", x);
  return builder.finish();
}

const { values: options } = parseArgs({
  options: { chains: { type: "boolean", default: false }, only: { type: "string", default: "" } },
});
const make = (layers: number): Graph =>
  options.chains ? chains(Math.round(layers * 4.6)) : tinyModel("qwen3", layers);
const large = make(LAYERS);
const small = make(LAYERS / 10);
const texts = new Map([large, small].map((graph) => [graph, printWhole(graph)]));
const walks: readonly (readonly [string, (graph: Graph) => unknown])[] = [
  ["build", (graph) => make(graph === large ? LAYERS : LAYERS / 10)],
  ["verify", (graph) => verify(opTable, graph)],
  ["hash", graphHash],
  ["print", (graph) => printWhole(graph)],
  ["parse", (graph) => parseGraph(opTable, texts.get(graph) ?? "")],
  ["specialise", (graph) => finish(specialize(opTable, graph, { T: 1, ...(!options.chains && { R: 1 }) }))],
  ["legalise for the CPU", (graph) => finish(legalise(graph, "cpu"))],
  ["legalise for Core ML", (graph) => finish(legalise(graph, "coreml"))],
  ...PASSES.map((pass) => [pass.name, (graph: Graph) => pass.run(graph)] as const),
  [PIPELINE, (graph) => finish(runPipeline(graph, { passes: PASSES }))],
];
const results = walks
  .filter(([walk]) => walk.startsWith(options.only))
  .map(([walk, run]) => {
    const pairs = Array.from({ length: REPEATS }, () => {
      const few = Array.from({ length: 3 }, () => cost(() => run(small)));
      return [cost(() => run(large)), Math.min(...few)] as const;
    });
    const milliseconds = Math.min(...pairs.map(([all]) => all));
    const ratio = milliseconds / Math.min(...pairs.map(([, few]) => few));
    return { walk, milliseconds, ratio, nearLinear: ratio < (walk === PIPELINE ? MOST : MOST_OF_WALK) };
  });
console.log(JSON.stringify({ nodes: large.nodes.length, fewerNodes: small.nodes.length, results }, null, 2));
if (results.some(({ nearLinear }) => !nearLinear)) process.exitCode = 1;
