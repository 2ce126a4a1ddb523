import { finish } from "../../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../../ir/builder.ts";
import type { Graph, Node, NodeId } from "../../ir/graph.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import { tensor } from "../../ir/type.ts";
import { demoGraph } from "../../models/demo.ts";
import { opTable, typedBuilder } from "../../ops/index.ts";
import { deadCode } from "../../passes/deadCode.ts";
import { runPipeline } from "../../passes/pipeline.ts";
import { graphView, stableIds } from "./graphView.ts";
import { groupTree } from "./groups.ts";
import { scopeOf } from "../../ir/nodePlace.ts";
import { nodeView, operationNames } from "./nodeView.ts";
import { sameDeviceOrder } from "./routeView.ts";
import { irLines, passDiff } from "./textView.ts";

const node = (id: number, scope: string, inputs: readonly number[], dtype: "f32" | "q8_0" = "f32"): Node => ({
  id: id as NodeId,
  op: "add",
  inputs: inputs.map((input) => ({ node: input as NodeId, output: 0 })),
  attrs: {},
  outputs: [tensor(dtype, [32])],
  origins: [{ scope, label: `n${id}`, source: id }],
  passes: [],
  regions: [],
});
const graphOf = (nodes: readonly Node[]): Graph => ({
  name: "g",
  nodes,
  inputs: [],
  outputs: [],
  states: [],
  constants: new Map(),
  symbolLimits: {},
});

describe("groups", () => {
  it("give equal blocks one structure and an odd one another", () => {
    const tree = finish(
      groupTree(
        graphOf([
          node(0, "embedding", []),
          node(1, "blk.0", [0, 0]),
          node(2, "blk.1", [1, 1]),
          node(3, "blk.2", [2, 2], "q8_0"),
          node(4, "head", [3]),
        ]),
      ),
    );
    const blocks = tree.groups.filter((group) => group.kind === "block");
    expect(blocks.map((block) => block.name)).toEqual(["blk.0", "blk.1", "blk.2"]);
    expect(blocks[0]?.structure).toBe(blocks[1]?.structure);
    expect(blocks[2]?.structure).not.toBe(blocks[0]?.structure);
    expect(tree.groups.filter((group) => group.kind === "repeat")).toHaveLength(1);
    expect(tree.groups[0]?.nodeCount).toBe(5);
  });

  it("see wiring: a swapped operand is another structure", () => {
    const tree = finish(
      groupTree(
        graphOf([
          node(0, "", []),
          node(1, "", []),
          node(2, "blk.0", [0, 1]),
          node(3, "blk.0", [2, 0]),
          node(4, "blk.1", [0, 1]),
          node(5, "blk.1", [4, 1]),
        ]),
      ),
    );
    const [first, second] = tree.groups.filter((group) => group.kind === "block");
    expect(first?.structure).not.toBe(second?.structure);
  });

  it("hold what one op of the model became in a group of its own, named by it", () => {
    const came = (id: number, source: number, label: string, op = "mul"): Node => ({
      ...node(id, "blk.0", []),
      op,
      origins: [{ scope: "blk.0", label, source }],
    });
    const parts = [came(0, 7, "q_rope"), came(1, 7, "q_rope"), came(2, 7, "q_rope"), came(3, 7, "q_rope", "constant")];
    const pair = [came(4, 8, "norm"), came(5, 8, "norm")];
    const both = { ...came(6, 7, "q_rope"), origins: [...came(6, 7, "q").origins, ...came(6, 9, "k").origins] };
    const tree = finish(groupTree(graphOf([...parts, ...pair, both])));
    const ops = tree.groups.filter(({ kind }) => kind === "op");
    expect(ops.map(({ name, nodeCount }) => [name, nodeCount])).toEqual([["q_rope", 4]]);
    const kindOf = (at: number | undefined) => tree.groups[at ?? 0]?.kind;
    expect([...tree.of].map(kindOf)).toEqual(["op", "op", "op", "op", "block", "block", "block"]);
  });

  it("put a fused node where all of its origins are", () => {
    const fused = {
      ...node(0, "", []),
      origins: [
        { scope: "blk.0/attention", label: "a", source: 1 },
        { scope: "blk.0/ffn", label: "b", source: 2 },
      ],
    };
    expect(scopeOf(fused)).toEqual(["blk.0"]);
  });
});

describe("the graph's view", () => {
  it("holds every node and edge of the demo graph", () => {
    const graph = demoGraph();
    const view = finish(
      graphView({
        key: { model: "m1", stage: { backend: "cpu", step: "built" }, phase: "decode" },
        graph,
        table: opTable,
        bindings: {},
        held: heldAsStored,
      }),
    );
    expect(view.nodeCount).toBe(graph.nodes.length);
    graph.nodes.forEach((each, i) => {
      expect(view.strings[view.nodes.op[i] ?? 0]).toBe(each.op);
      const edges = Array.from(view.edges.source.slice(view.edges.start[i], view.edges.start[i + 1]));
      expect(edges).toEqual(each.inputs.map((value) => value.node));
    });
    expect(new Set(stableIds(graph)).size).toBe(graph.nodes.length);
  });
});

describe("nodes with sub-graphs", () => {
  const b = new GraphBuilder(opTable, "choice");
  const g = typedBuilder(b);
  const types = [tensor("f32", [4])];
  const [flag, x] = [b.input("flag", tensor("bool", [])), b.input("x", tensor("f32", [4]))];
  const [y] = g.if([flag, x], {}, "choice", [
    g.region("then", types, (h, a) => {
      h.exp([a]);
      return [h.mul([h.tanh([a]), a])];
    }),
    g.region("else", types, (_h, a) => [a]),
  ]);
  b.output("y", y!);
  const graph = b.finish();
  const key = { model: "m1", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;
  const at = graph.nodes.findIndex(({ op }) => op === "if");

  it("are one node of the flat graph, described with what they hold", () => {
    const view = finish(graphView({ key, graph, table: opTable, bindings: {}, held: heldAsStored }));
    expect(view.nodeCount).toBe(3);
    const input = { key, graph, id: at, bindings: {}, file: undefined, route: undefined, target: null };
    const { subgraphs } = nodeView({ ...input, held: heldAsStored, routed: undefined, became: [], time: undefined });
    expect(subgraphs.map(({ name, summary }) => [name, summary])).toEqual([
      ["then", "3 ops: exp, tanh, mul"],
      ["else", "hands its inputs through"],
    ]);
    expect(subgraphs[0]!.text).toContain("tanh(%0) : f32[4]");
  });

  it("have their text below them, and a pass that changes only that shows so", () => {
    const lines = irLines(graph);
    expect(lines.find(({ text }) => text.includes("tanh"))!.node).toBe(at);
    const [record] = finish(runPipeline(graph, { passes: [deadCode] })).records;
    const { before, after } = passDiff(record!, { mark: record!.name, previous: undefined }, true);
    expect(before).toContain("exp(");
    expect(after).not.toContain("exp(");
  });
});

it("devices have one order in the engine and in the contract", () => expect(sameDeviceOrder).toBe(true));

it("names the operators of an op in order, counts repeats and cuts a long list", () => {
  expect(operationNames(["matmul", "softmax", "matmul"])).toBe("matmul, softmax, matmul");
  expect(operationNames(["mul", "mul", "add"])).toBe("mul ×2, add");
  expect(operationNames(["a", "b", "c", "d", "e", "f", "g", "g", "h"])).toBe("a, b, c, d, e, f and 3 more");
});
