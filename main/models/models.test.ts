import { describe, expect, it } from "vitest";
import { weightSourceOf } from "../formats/gguf/weightSource.ts";
import { graphHash } from "../ir/hash.ts";
import { printNode } from "../ir/text/print.ts";
import type { WeightSource } from "../ir/graph.ts";
import { finish } from "../ir/steps.ts";
import type { TensorType } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import { opTable } from "../ops/index.ts";
import { requireDecoder } from "./architecture.ts";
import type { ModelOptions } from "./blocks.ts";
import { demoGraph } from "./demo.ts";
import type { DecoderArchitecture } from "./family.ts";
import { DEEP, LLAMA_1B, headerOnlyModel } from "./headerOnly.ts";

const options: ModelOptions = { capacity: 4096, cacheType: "f16", largestStep: 512, largestRows: 512 };
const built = (architecture: DecoderArchitecture, weights: WeightSource) =>
  finish(architecture.graph(weights, options));
const build = async (shape: typeof LLAMA_1B) => {
  const file = await headerOnlyModel(shape);
  return { file, graph: built(requireDecoder(file), weightSourceOf(file)) };
};

describe("a model of the llama family", () => {
  it("prints its first layer", async () => {
    const { graph } = await build({ ...LLAMA_1B, layers: 1 });
    expect(graph.nodes.map((node) => printNode(graph, node)).join("\n")).toMatchSnapshot();
  });
  it("verifies, hashes stably, and uses every tensor of the file", async () => {
    const { file, graph } = await build(LLAMA_1B);
    expect(verify(opTable, graph)).toEqual([]);
    const again = await build(LLAMA_1B);
    expect(graphHash(again.graph)).toBe(graphHash(graph));
    const used = new Set(graph.nodes.filter((n) => n.op === "param").map((n) => n.attrs["tensor"]));
    expect(file.tensors.map((t) => t.name).filter((name) => !used.has(name))).toEqual([]);
    expect(graph.states).toHaveLength(32);
  });
  it("is refused where a tensor has another shape than the keys say, or is not there", async () => {
    const file = await headerOnlyModel({ ...LLAMA_1B, layers: 1 });
    const weights = weightSourceOf(file);
    const name = "blk.0.ffn_up.weight";
    const builtWith = (type: TensorType | undefined) => () =>
      built(requireDecoder(file), {
        ...weights,
        tensorType: (tensor) => (tensor === name ? type : weights.tensorType(tensor)),
      });
    const known = weights.tensorType(name)!;
    const [rows, columns] = known.shape;
    // Twice the rows: a matrix that a product would take, and that only the keys contradict.
    expect(builtWith({ ...known, shape: [Number(rows) * 2, columns!] })).toThrow(
      expect.objectContaining({
        code: "INPUT_MALFORMED",
        message: expect.stringContaining(`[${file.name}] tensor "${name}": got`) as string,
      }),
    );
    expect(builtWith(undefined)).toThrow(
      expect.objectContaining({
        code: "INPUT_MISSING_TENSOR",
        message: expect.stringContaining(`[${file.name}] `) as string,
      }),
    );
  });
  it("has more than 10 000 ops when it is deep", async () => {
    expect((await build(DEEP)).graph.nodes.length).toBeGreaterThan(10_000);
  });
});

describe("the demo graph", () => {
  it("verifies and names three host ops", () => {
    const graph = demoGraph();
    expect(verify(opTable, graph)).toEqual([]);
    expect(graph.nodes.filter((n) => opTable.get(n.op)?.traits.includes("host")).map((n) => n.op)).toEqual([
      "fft",
      "custom",
      "lstm",
    ]);
  });
});
