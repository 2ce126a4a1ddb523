/** Everything that walks a graph comes to its end with 100 000 nodes; how its time grows with them, bench/scale.ts says. */
import { finish } from "../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { graphHash } from "../ir/hash.ts";
import { parseGraph } from "../ir/text/build.ts";
import { printWhole } from "../ir/text/print.ts";
import { specialize } from "../ir/specialize.ts";
import { verify } from "../ir/verify.ts";
import { opTable } from "../ops/index.ts";
import { runPipeline } from "../passes/pipeline.ts";
import { allowedFor } from "../testing/pace.ts";
import { tinyModel } from "../testing/tinyModels.ts";
import { legalise } from "./legalise.ts";
import { pipelineFor } from "./pipelines.ts";

const LAYERS = 2750;
const PASSES = pipelineFor("cpu");

describe("100 000 nodes", () => {
  const graph = tinyModel("qwen3", LAYERS);
  const nodes = graph.nodes.length;

  it("is what the model has", () => expect(nodes).toBeGreaterThan(100_000));
  it("are verified", () => expect(verify(opTable, graph)).toEqual([]));
  it("have one hash, however they were built", () =>
    expect(graphHash(tinyModel("qwen3", LAYERS))).toBe(graphHash(graph)));
  it("are printed, each on a line, and read back, each in 3 seconds", async () => {
    const timed = async <T>(work: () => T): Promise<T> => {
      const start = process.cpuUsage();
      const made = work();
      const { user, system } = process.cpuUsage(start);
      const spent = (user + system) / 1000;
      expect(spent).toBeLessThan((await allowedFor(spent, 3000)).ms);
      return made;
    };
    const text = await timed(() => printWhole(graph));
    expect(text.split("\n").length).toBeGreaterThan(nodes);
    const back = await timed(() => parseGraph(opTable, text));
    expect(graphHash(back)).toBe(graphHash(graph));
  });
  it("are specialised", () => {
    const step = finish(specialize(opTable, graph, { T: 1, R: 1 }));
    expect(step.nodes.length).toBeGreaterThan(nodes / 2);
  });
  it.each(["cpu", "coreml"] as const)("are made legal for %s", (backend) =>
    expect(finish(legalise(graph, backend)).graph.nodes.length).toBeGreaterThan(nodes / 2),
  );
  it.each(PASSES)("go through $name", (pass) => expect(pass.run(graph).graph.nodes.length).toBeGreaterThan(nodes / 4));
  it("go through the pipeline", () => {
    const { graph: passed } = finish(runPipeline(graph, { passes: PASSES }));
    expect(verify(opTable, passed)).toEqual([]);
    expect(passed.nodes.length).toBeLessThan(nodes);
  });
});
