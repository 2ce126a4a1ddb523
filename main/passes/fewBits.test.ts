import { expect, it } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import { tensor } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import { fewBits, rangeProbes } from "./fewBits.ts";

const WEIGHTS = new Set(["w1", "w2"]);

/** Two products with weights that are trained, one with a frozen weight, one with an activation. */
function net(): Graph {
  const b = new GraphBuilder(opTable, "net");
  const g = typedBuilder(b);
  const x = b.input("x", tensor("f32", [2, 3]));
  const [w1, w2, frozen] = ["w1", "w2", "frozen"].map((name) => b.input(name, tensor("f32", [3, 3])));
  const hidden = g.relu([g.linear([x, w1!], {}, "up")]);
  const mixed = g.matmul([g.linear([hidden, frozen!], {}, "side"), g.abs([w2!])]);
  b.output("y", g.add([g.matmul([hidden, w2!]), mixed]));
  return b.finish();
}

const opsOf = (graph: Graph): readonly string[] =>
  graph.nodes.filter(({ op }) => !["input", "constant"].includes(op)).map(({ op }) => op);

it("range probes leave the net as it is and give the largest activation of each product", () => {
  const given = net();
  const { graph, hits, misses, moved } = rangeProbes(WEIGHTS).run(given);
  expect(verify(opTable, graph)).toEqual([]);
  expect(hits).toBe(2);
  expect(graph.outputs.map(({ name }) => name)).toEqual(["y", "range.0", "range.1"]);
  expect(opsOf(graph).slice(0, opsOf(given).length)).toEqual(opsOf(given));
  expect([...moved]).toEqual([...given.nodes.keys()]);
  expect(misses.map(({ why }) => why)).toEqual([
    "frozen is none of the weights that are trained",
    "its second operand is made by abs: expected a weight",
  ]);
});

it("few bits round both operands of each product, each with its own range", () => {
  const { graph, hits, misses } = fewBits(WEIGHTS, [1, 14], { weights: 4, activations: 8 }).run(net());
  expect(verify(opTable, graph)).toEqual([]);
  expect(hits).toBe(2);
  expect(misses).toHaveLength(2);
  const products = graph.nodes.filter(
    ({ op, inputs }) =>
      ["linear", "matmul"].includes(op) && inputs.every(({ node }) => graph.nodes[node]?.op === "fake_quantize"),
  );
  expect(products.map(({ op }) => op)).toEqual(["linear", "matmul"]);
  const rounded = graph.nodes.filter(({ op }) => op === "fake_quantize");
  expect(rounded.map(({ attrs }) => attrs["bits"])).toEqual([8, 4, 8, 4]);
  expect(rounded.filter(({ attrs }) => attrs["bits"] === 4).map(({ attrs }) => attrs["axes"])).toEqual([[1], [0]]);
  const steps = [...graph.constants.values()].map(({ data }) => data[0]);
  expect(steps).toEqual([1 / 127, 14 / 127].map(Math.fround));
});

it("leave a graph without such products alone", () => {
  const given = net();
  for (const pass of [rangeProbes(new Set()), fewBits(new Set(), [], { weights: 4, activations: 8 })])
    expect(pass.run(given)).toMatchObject({ graph: given, hits: 0 });
});
