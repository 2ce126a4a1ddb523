// Every backend's pipeline: its pages, and what its passes do to random graphs.
import { finish } from "../ir/steps.ts";
import { readFileSync, readdirSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printGraph } from "../ir/text/print.ts";
import { verify } from "../ir/verify.ts";
import { STABLE_BACKENDS } from "../ops/defineOp.ts";
import { evaluate } from "../ops/evaluate.ts";
import { opTable } from "../ops/index.ts";
import { GENERAL_PASSES } from "../passes/pipeline.ts";
import { randomCase } from "../testing/randomGraphs.ts";
import { pipelineFor } from "./pipelines.ts";

/** The CPU's list holds all passes there are. */
const PASSES = pipelineFor("cpu");
const folder = new URL("../../docs/passes/", import.meta.url);
const pages = readdirSync(folder)
  .filter((name) => name !== "README.md")
  .sort();
const slug = (name: string): string => name.replaceAll(/[^a-z]+/g, "-");

describe("pipelines", () => {
  it("begin with the shared passes and name each pass once", () => {
    for (const backend of STABLE_BACKENDS) {
      const passes = pipelineFor(backend);
      expect(passes.slice(0, GENERAL_PASSES.length)).toEqual(GENERAL_PASSES);
      expect(new Set(passes.map(({ name }) => name)).size).toBe(passes.length);
      for (const pass of passes) expect(PASSES).toContain(pass);
    }
  });
});

describe("docs/passes", () => {
  it("has one page per pass, in the order of the pipeline", () => {
    expect(pages).toEqual(PASSES.map((pass, i) => `${String(i + 1).padStart(2, "0")}-${slug(pass.name)}.md`));
    const list = readFileSync(new URL("README.md", folder), "utf8");
    for (const page of pages) expect(list).toContain(`(${page})`);
  });

  it.each(PASSES.map((pass, i) => [pass.name, pass, pages[i] ?? ""] as const))(
    "%s: same headings, same reason",
    (_, pass, page) => {
      const text = readFileSync(new URL(page, folder), "utf8");
      expect(text.match(/^#+ .*$/gm)?.slice(1)).toEqual(["## Why", "## Given", "## Result", "## Limits", "## Example"]);
      expect(text.replaceAll(/\s+/g, " ")).toContain(pass.reason);
    },
  );
});

describe("random graphs", () => {
  it("every pass keeps what the graph computes, and its signature", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1 << 30 }), (seed) => {
        const { graph, inputs } = randomCase(seed);
        const want = finish(evaluate(graph, inputs));
        let current = graph;
        for (const pass of PASSES) {
          const { graph: after, moved, hits } = pass.run(current);
          expect(verify(opTable, after), pass.name).toEqual([]);
          expect(moved).toHaveLength(current.nodes.length);
          expect(hits === 0).toBe(after === current);
          expect(after.inputs.map((id) => after.nodes[id]!.attrs["name"])).toEqual(
            graph.inputs.map((id) => graph.nodes[id]!.attrs["name"]),
          );
          const got = finish(evaluate(after, inputs));
          for (const [name, value] of Object.entries(want.outputs))
            value.data.forEach((x, i) => {
              const y = got.outputs[name]!.data[i]!;
              if (!(Math.abs(x - y) <= 1e-5 * (1 + Math.abs(x))))
                expect.fail(`${pass.name} changed ${name}[${i}] from ${x} to ${y}\n${printGraph(current)}`);
            });
          expect(pass.run(after).hits, `${pass.name} finds no more the second time`).toBe(0);
          current = after;
        }
      }),
      { numRuns: 300 },
    );
  });
});
