import { finish } from "./steps.ts";
import { describe, expect, it } from "vitest";
import { opTable } from "../ops/index.ts";
import { GraphBuilder } from "./builder.ts";
import type { Graph, Node, NodeId } from "./graph.ts";
import { graphHash } from "./hash.ts";
import { hostTensor } from "./hostTensor.ts";
import { printGraph, printNode } from "./text/print.ts";
import { prune, rewrite } from "./rewrite.ts";
import { specialize } from "./specialize.ts";
import { tensor } from "./type.ts";
import { verify } from "./verify.ts";

function sumGraph(constant = 2): Graph {
  const b = new GraphBuilder(opTable, "sum");
  const x = b.input("x", tensor("f32", ["T", 3]));
  const w = b.param("w", tensor("f32", [3]), { file: "f", tensor: "w" });
  const c = b.constant(hostTensor("f32", [1], [constant]));
  const s = b.state("s", tensor("f32", ["T", 3]));
  const y = b.scoped("block", () => {
    const [xw] = b.apply("add", [x, w], {}, { label: "xw" });
    const [sum] = b.apply("add", [xw ?? x, c]);
    return sum ?? x;
  });
  const [next] = b.apply("add", [s, y]);
  b.apply("add", [x, x], {}, { label: "unused" });
  b.setState("s", next ?? y);
  b.output("y", y);
  return b.finish();
}

describe("builder", () => {
  it("types what it adds and refuses what it cannot type", () => {
    const b = new GraphBuilder(opTable, "g");
    const x = b.input("x", tensor("f32", ["T", 3]));
    const bad = b.input("bad", tensor("f32", [2]));
    const half = b.input("half", tensor("f16", ["T", 3]));
    expect(() => b.apply("add", [x, bad])).toThrow(expect.objectContaining({ code: "IR_SHAPE" }));
    expect(() => b.apply("add", [x, half])).toThrow(expect.objectContaining({ code: "IR_TYPE" }));
    expect(() => b.apply("add", [x])).toThrow(expect.objectContaining({ code: "IR_STRUCTURE" }));
    expect(() => b.apply("no_such_op", [x])).toThrow(expect.objectContaining({ code: "IR_STRUCTURE" }));
    expect(() => b.apply("add", [x, x], { axis: 1 })).toThrow(expect.objectContaining({ code: "IR_ATTRIBUTE" }));
    expect(() => b.input("x", tensor("f32", []))).toThrow(expect.objectContaining({ code: "IR_STRUCTURE" }));
    b.state("s", tensor("f32", [2]));
    expect(() => b.setState("s", x)).toThrow(expect.objectContaining({ code: "IR_TYPE" }));
  });
});

describe("hash", () => {
  it("is the same for the same graph and differs in every detail that matters", () => {
    expect(graphHash(sumGraph())).toBe(graphHash(sumGraph()));
    expect(graphHash(sumGraph(3))).not.toBe(graphHash(sumGraph()));
    const graph = sumGraph();
    expect(graphHash({ ...graph, outputs: [] })).not.toBe(graphHash(graph));
    expect(graphHash({ ...graph, name: "other" })).toBe(graphHash(graph));
    const withEps = (eps: number): Graph => {
      const b = new GraphBuilder(opTable, "g");
      const x = b.input("x", tensor("f32", [3]));
      b.output("y", b.apply("rms_norm", [x, x], { eps })[0]!);
      return b.finish();
    };
    const hashes = [0, -0, Infinity, -Infinity].map((eps) => graphHash(withEps(eps)));
    expect(new Set(hashes).size).toBe(4);
  });
});

describe("hash of what differs in one thing only", () => {
  /** Not built but put together, so that nothing else can follow the change. */
  const changed = (graph: Graph, op: string, change: (node: Node) => Partial<Node>): Graph => {
    const at = graph.nodes.findIndex((node) => node.op === op);
    return { ...graph, nodes: graph.nodes.map((node, i) => (i === at ? { ...node, ...change(node) } : node)) };
  };
  const inner = (label: string, op = "neg"): Graph => {
    const b = new GraphBuilder(opTable, label);
    const [y] = b.apply(op, [b.input("x", tensor("f32", [3]))], {}, { label });
    b.output("y", y!);
    return b.finish();
  };
  const state = sumGraph().states[0]!;
  const base = changed({ ...sumGraph(), symbolLimits: { T: 8, U: 9 } }, "add", () => ({ regions: [inner("a")] }));
  const add = (change: (node: Node) => Partial<Node>): Graph => changed(base, "add", change);
  const leaf = (op: string, attrs: Node["attrs"]): Graph =>
    changed(base, op, (node) => ({ attrs: { ...node.attrs, ...attrs } }));
  const withState = (change: Partial<typeof state>): Graph => ({ ...base, states: [{ ...state, ...change }] });
  const [output] = base.outputs;

  const different: Readonly<Record<string, Graph>> = {
    "the element type of an output": add(() => ({ outputs: [tensor("f16", ["T", 3])] })),
    "the shape of an output": add(() => ({ outputs: [tensor("f32", ["T", 4])] })),
    "the symbol of an output": add(() => ({ outputs: [tensor("f32", ["U", 3])] })),
    "the number of outputs": add(({ outputs }) => ({ outputs: [...outputs, ...outputs] })),
    "the op": add(() => ({ op: "sub" })),
    "an attribute": add(() => ({ attrs: { axis: 1 } })),
    "the value of an attribute": add(() => ({ attrs: { axis: 2 } })),
    "the name of an attribute": add(() => ({ attrs: { axes: 1 } })),
    "the order of operands": add(({ inputs }) => ({ inputs: inputs.toReversed() })),
    "an operand": add(({ inputs }) => ({ inputs: [inputs[0]!, inputs[0]!] })),
    "which output an operand is": add(({ inputs }) => ({ inputs: [inputs[0]!, { ...inputs[1]!, output: 1 }] })),
    "an op in a region": add(() => ({ regions: [inner("a", "exp")] })),
    "the number of regions": add(() => ({ regions: [inner("a"), inner("a")] })),
    "no region": add(() => ({ regions: [] })),
    "the name of an input": leaf("input", { name: "other" }),
    "the type of an input": changed(base, "input", () => ({ outputs: [tensor("f64", ["T", 3])] })),
    "the file of a weight": leaf("param", { file: "g" }),
    "the tensor of a weight": leaf("param", { tensor: "v" }),
    "a constant": leaf("constant", { data: "0" }),
    "the order of inputs": { ...base, inputs: [...base.inputs, 1 as NodeId] },
    "the name of an output": { ...base, outputs: [{ ...output!, name: "z" }] },
    "the value of an output": { ...base, outputs: [{ ...output!, value: { node: 0 as NodeId, output: 0 } }] },
    "no state": { ...base, states: [] },
    "the name of a state": withState({ name: "other" }),
    "the leaf of a state": withState({ input: 0 as NodeId }),
    "what a state becomes": withState({ output: { node: state.input, output: 0 } }),
    "which output a state becomes": withState({ output: { ...state.output, output: 1 } }),
    "a symbol's limit": { ...base, symbolLimits: { T: 7, U: 9 } },
    "whose limit it is": { ...base, symbolLimits: { T: 9, U: 8 } },
    "one limit less": { ...base, symbolLimits: { T: 8 } },
  };

  it.each(Object.entries(different))("%s", (_what, graph) => {
    expect(graphHash(graph)).not.toBe(graphHash(base));
  });

  it("is another one for each", () => {
    const hashes = Object.values(different).map(graphHash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it.each<readonly [string, Graph]>([
    ["the graph's name", { ...base, name: "other" }],
    ["where a node came from", add(() => ({ origins: [{ scope: "elsewhere", label: "other", source: 9 }] }))],
    ["the passes that made it", add(() => ({ passes: ["cleaning"] }))],
    ["a region's name and labels", add(() => ({ regions: [inner("b")] }))],
    ["the order of the limits", { ...base, symbolLimits: { U: 9, T: 8 } }],
    ["what a node calls itself", add(() => ({ id: 77 as NodeId }))],
  ])("not by %s", (_what, graph) => {
    expect(graphHash(graph)).toBe(graphHash(base));
  });

  it("not by the order in which attributes are given", () => {
    const reduced = (attrs: Node["attrs"]): Graph => {
      const b = new GraphBuilder(opTable, "g");
      b.output("y", b.apply("reduce", [b.input("x", tensor("f32", [3]))], attrs)[0]!);
      return b.finish();
    };
    expect(graphHash(reduced({ axes: [0], kind: "sum" }))).toBe(graphHash(reduced({ kind: "sum", axes: [0] })));
  });
});

describe("rewrite", () => {
  it("returns the same object when nothing changes", () => {
    const graph = sumGraph();
    expect(finish(rewrite(opTable, graph, "none", () => undefined)).graph).toBe(graph);
  });

  it("drops dead nodes and says where the others went", () => {
    const graph = sumGraph();
    const { graph: pruned, moved, changed } = prune(graph);
    expect(changed).toBe(1);
    expect(pruned.nodes).toHaveLength(graph.nodes.length - 1);
    expect(moved[graph.nodes.length - 1]).toBe(-1);
    expect(verify(opTable, pruned)).toEqual([]);
  });

  it("carries origins and the names of passes", () => {
    const graph = sumGraph();
    const result = finish(
      rewrite(opTable, graph, "double", (node, map, replace) => {
        const [a, b] = node.inputs;
        if (node.op !== "add" || node.origins[0]?.label !== "xw" || !a || !b) return undefined;
        const replacement = replace();
        const [sum] = replacement.apply("add", [map(a), map(b)]);
        return sum ? replacement.apply("add", [sum, map(b)]) : undefined;
      }),
    );
    const made = result.graph.nodes.filter((node) => node.passes.includes("double"));
    expect(made).toHaveLength(2);
    for (const node of made) expect(node.origins).toEqual([{ scope: "block", label: "xw", source: 4 }]);
  });
});

describe("specialise", () => {
  it("binds symbols everywhere and re-types", () => {
    const graph = finish(specialize(opTable, sumGraph(), { T: 5 }));
    expect(verify(opTable, graph)).toEqual([]);
    expect(
      graph.nodes
        .flatMap((node) => node.outputs.flatMap((type) => type.shape))
        .filter((dim) => typeof dim === "string"),
    ).toEqual([]);
  });

  it("keeps the limits of symbols that stay, and drops those of symbols that are bound", () => {
    const limited: Graph = { ...sumGraph(), symbolLimits: { T: 8, U: 9 } };
    expect(finish(specialize(opTable, limited, { T: 5 })).symbolLimits).toEqual({ U: 9 });
    expect(finish(specialize(opTable, limited, { U: 2 })).symbolLimits).toEqual({ T: 8 });
  });
});

describe("print", () => {
  it("is one line a node, with origins", () => {
    expect(printGraph(sumGraph())).toMatchInlineSnapshot(`
      "graph "sum" {
        %0 = input "x" : f32[T,3]
        %1 = param "w" {file: "f", tensor: "w"} : f32[3]
        %2 = constant [2] : f32[1]
        %3 = state "s" {rewind: "checkpoint"} : f32[T,3]
        %4 = add(%0, %1) : f32[T,3] @ "block" "xw" 4
        %5 = add(%4, %2) : f32[T,3] @ "block" "add" 5
        %6 = add(%3, %5) : f32[T,3]
        %7 = add(%0, %0) : f32[T,3] @ "" "unused" 7
        next "s" = %6
        return "y" = %5
      }"
    `);
  });

  it("names the passes that made a node, oldest first, with its origins or without", () => {
    const graph = sumGraph();
    const printed = (change: Partial<Node>): string => printNode(graph, { ...graph.nodes[4]!, ...change });
    expect(printed({ passes: ["fuse", "fold"] })).toBe(
      '%4 = add(%0, %1) : f32[T,3] @ "block" "xw" 4 by "fuse", "fold"',
    );
    expect(printed({ passes: ["fuse"], origins: [] })).toBe('%4 = add(%0, %1) : f32[T,3] @ none by "fuse"');
  });

  it("begins with the limits of the symbols", () => {
    expect(printGraph({ ...sumGraph(), symbolLimits: { T: 8 } }).split("\n")[1]).toBe("  limit T = 8");
  });
});
