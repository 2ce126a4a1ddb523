// Element-wise regions: Given and Result, every reason to leave a step outside, and regions of many shapes of graph.
import { finish } from "../../../ir/steps.ts";
import { describe, expect, it } from "vitest";
import type { DType } from "../../../ir/dtype.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import { fusionPass } from "../../../ir/fusion.ts";
import type { Graph, Node, Value } from "../../../ir/graph.ts";
import { hostTensor } from "../../../ir/hostTensor.ts";
import { graphHash } from "../../../ir/hash.ts";
import type { PassOutcome } from "../../../ir/pass.ts";
import { parseGraph } from "../../../ir/text/build.ts";
import { printGraph } from "../../../ir/text/print.ts";
import { tensor } from "../../../ir/type.ts";
import { verify } from "../../../ir/verify.ts";
import { evaluate } from "../../../ops/evaluate.ts";
import { opTable, typedBuilder } from "../../../ops/index.ts";
import type { OpBuilder } from "../../../ops/opBuilder.ts";
import { elementwiseRegion } from "./elementwiseRegion.ts";

type Build = (g: OpBuilder, x: Value, row: Value, b: GraphBuilder) => Readonly<Record<string, Value>>;

function graphOf(build: Build, dtype: DType = "f32"): Graph {
  const b = new GraphBuilder(opTable, "chains");
  const outputs = build(typedBuilder(b), b.input("x", tensor(dtype, [2, 3])), b.input("row", tensor(dtype, [3])), b);
  for (const [name, value] of Object.entries(outputs)) b.output(name, value);
  return b.finish();
}

const pass = (graph: Graph): PassOutcome => fusionPass(opTable, elementwiseRegion).run(graph);
const regionsOf = (graph: Graph): readonly Node[] => graph.nodes.filter(({ op }) => op === "elementwise_region");

/** The graph after the pass; it computes what it did. */
function marked(graph: Graph): PassOutcome {
  const outcome = pass(graph);
  expect(verify(opTable, outcome.graph)).toEqual([]);
  const inputs = {
    x: hostTensor("f32", [2, 3], [1, -2, 0.5, 3, 0.25, -1]),
    row: hostTensor("f32", [3], [0.5, 2, -1]),
  };
  expect(finish(evaluate(outcome.graph, { inputs }))).toEqual(finish(evaluate(graph, { inputs })));
  return outcome;
}

describe("mark regions", () => {
  it("Given a chain, Result: one op with its steps, its operands stretched", () => {
    const { graph, hits } = marked(graphOf((g, x, row) => ({ y: g.add([g.tanh([g.mul([x, row])]), x]) })));
    expect(hits).toBe(1);
    expect(printGraph(graph)).toContain(
      '%2 = elementwise_region(%0, %1) {steps: ["mul 0 1", "tanh 2", "add 3 0"], results: [4]} : f32[2,3]',
    );
  });

  it("gives each step that is read elsewhere as a result, and says where every node went", () => {
    const given = graphOf((g, x, row) => {
      const moment = g.add([x, row]);
      const root = g.sqrt([g.square([moment])]);
      return { moment, next: g.sub([x, root]), root, sum: g.reduce([root], { kind: "sum", axes: [0] }) };
    });
    const { graph, moved } = marked(given);
    const [region] = regionsOf(graph);
    expect(region?.attrs).toEqual({ steps: ["add 0 1", "square 2", "sqrt 3", "sub 0 4"], results: [2, 4, 5] });
    const places = ["add", "sqrt", "sub"].map((op) => moved[given.nodes.find((node) => node.op === op)!.id]);
    expect(places).toEqual([region?.id, region?.id, region?.id]);
    expect(region?.origins).toHaveLength(4);
  });

  it("takes comparisons, choices, casts and both forms of gelu", () => {
    const { graph } = marked(
      graphOf((g, x) => {
        const half = g.cast([g.cast([x], { to: "f16" })], { to: "f32" });
        const chosen = g.where([g.compare([half, x], { op: "lt" }), g.gelu([half], { approx: true }), x]);
        return { y: g.maximum([g.gelu([chosen], { approx: false }), g.neg([chosen])]) };
      }),
    );
    expect(regionsOf(graph).map(({ attrs }) => attrs["steps"])).toEqual([
      ["cast_f16 0", "cast_f32 1", "lt 2 0", "gelu_tanh 2", "where 3 4 0", "gelu 5", "neg 5", "max 6 7"],
    ]);
  });

  it("reads back from its text with the same hash", () => {
    const { graph } = pass(graphOf((g, x, row) => ({ y: g.exp([g.sub([x, row])]) })));
    expect(graphHash(parseGraph(opTable, printGraph(graph)))).toBe(graphHash(graph));
  });

  const untouched: readonly (readonly [what: string, build: Build, dtype: DType])[] = [
    ["one operation", (g, x, row) => ({ y: g.mul([x, row]) }), "f32"],
    ["operations that do not meet", (g, x) => ({ a: g.tanh([x]), b: g.exp([x]) }), "f32"],
    ["operations with something between", (g, x) => ({ y: g.exp([g.softmax([g.tanh([x])], { axis: -1 })]) }), "f32"],
    ["numbers of their own", (g, x) => ({ y: g.elu([g.leaky_relu([x], { alpha: 0.1 })], { alpha: 1 }) }), "f32"],
    ["whole numbers", (g, x, row) => ({ y: g.mul([g.add([x, row]), x]) }), "i32"],
  ];
  it.each(untouched)("leaves %s", (_, build, dtype) => {
    const graph = graphOf(build, dtype);
    expect(pass(graph)).toMatchObject({ graph, hits: 0, misses: [] });
  });

  const chain = (g: OpBuilder, x: Value, length: number): Value => {
    let y = x;
    for (let i = 0; i < length; i++) y = g.tanh([y]);
    return y;
  };
  const misses: readonly (readonly [string, number, Build])[] = [
    ["its shape is not the region's: it is stretched there", 0, (g, x, row) => ({ y: g.mul([x, g.tanh([row])]) })],
    [
      "something before the end of the region reads it",
      0,
      (g, x) => {
        const y = g.tanh([x]);
        return { y: g.mul([y, g.softmax([y], { axis: -1 })]) };
      },
    ],
    ["with it the region would have more than 32 steps", 2, (g, x) => ({ y: chain(g, x, 40) })],
    [
      "with it the region would have more than 16 operands",
      2,
      (g, x, row, b) => {
        let y = x;
        for (let i = 0; i < 20; i++) y = g.add([y, b.input(`x${i}`, tensor("f32", [3]))]);
        return { y, row };
      },
    ],
    [
      "with it the region would have more than 8 results",
      2,
      (g, x) => {
        const all = [x];
        for (let i = 0; i < 12; i++) all.push(g.tanh([all[i]!]));
        return Object.fromEntries(all.map((value, i) => [`y${i}`, value]));
      },
    ],
  ];
  it.each(misses)("says why a step stays outside: %s", (why, hits, build) => {
    const outcome = pass(graphOf(build));
    expect(outcome.hits).toBe(hits);
    expect(outcome.misses.map((miss) => miss.why)).toContain(why);
    expect(verify(opTable, outcome.graph)).toEqual([]);
    expect(pass(outcome.graph).hits).toBe(0);
  });

  it("is linear: 40 000 operations that read one value take no square of the time", () => {
    const graph = graphOf((g, x, row) => {
      const hub = g.tanh([x]);
      let y = g.add([hub, row]);
      for (let i = 0; i < 20_000; i++) y = g.softmax([g.add([g.mul([y, hub]), hub])], { axis: -1 });
      return { y };
    });
    const start = performance.now();
    expect(pass(graph).hits).toBe(20_000);
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

describe("steps of a region", () => {
  const region =
    (steps: readonly string[], results: readonly number[]): (() => Graph) =>
    () =>
      graphOf((g, x, row) => ({ y: g.elementwise_region([x, row], { steps, results })[0]! }));

  it.each([
    ["no steps", [], [2], /steps: got none/],
    ["an unknown kernel", ["mul 0 1", "matmul 2 1"], [3], /step 1: got "matmul 2 1", expected an element-wise kernel/],
    ["too few values", ["mul 0"], [2], /step 0: got "mul 0", expected 2 values behind mul/],
    ["a later value", ["mul 0 2"], [2], /step 0: got "mul 0 2", expected values before it, 0 to 1/],
    ["no number", ["mul 0 x"], [2], /expected values before it/],
    ["a cast to nothing", ["cast_f33 0"], [2], /expected an element-wise kernel/],
    ["no results", ["mul 0 1"], [], /results: got none/],
    ["an operand as a result", ["mul 0 1"], [1], /results: got 1, expected different values from 2 to 2/],
    ["a result twice", ["mul 0 1"], [2, 2], /results: got 2, 2/],
    ["results of two shapes", ["mul 0 1", "tanh 1"], [2, 3], /shape: got f32\[3\]/],
    ["a result smaller than an operand", ["mul 0 1", "tanh 1"], [3], /shape: got f32\[2,3\]/],
    ["types that do not meet", ["cast_i32 0", "add 2 1"], [3], /operand types differ/],
  ] as const)("are checked: %s", (_, steps, results, message) => {
    expect(region(steps, results)).toThrow(message);
  });
});
