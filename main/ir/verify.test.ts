/** Broken graphs, each with all that the verifier says of it. */
import { describe, expect, it } from "vitest";
import { makeRegion, opTable } from "../ops/index.ts";
import { GraphBuilder } from "./builder.ts";
import type { Graph, GraphState, Node, NodeId, Value } from "./graph.ts";
import { hostScalar, hostTensor } from "./hostTensor.ts";
import { DEEPEST_NEST } from "./regions.ts";
import type { TensorType } from "./type.ts";
import { scalar, tensor } from "./type.ts";
import type { Finding } from "./verify.ts";
import { verify } from "./verify.ts";

const ROWS = tensor("f32", ["T", 3]);
const FLAG = scalar("bool");
const at = (node: number, output = 0): Value => ({ node: node as NodeId, output });

/** %0 input x · %1 param w · %2 constant · %3 state s · %4 x + w · %5 s + %4 */
function sumGraph(): Graph {
  const b = new GraphBuilder(opTable, "sum");
  const x = b.input("x", ROWS);
  const w = b.param("w", tensor("f32", [3]), { file: "f", tensor: "w" });
  b.constant(hostTensor("f32", [1], [2]));
  const s = b.state("s", ROWS);
  const [y] = b.apply("add", [x, w]);
  const [next] = b.apply("add", [s, y!]);
  b.limitSymbol("T", 8);
  b.setState("s", next!);
  b.output("y", y!);
  return b.finish();
}

const graph = sumGraph();
const [state] = graph.states;
const [output] = graph.outputs;

const changed = (id: number, change: Partial<Node>, of: Graph = graph): Graph => ({
  ...of,
  nodes: of.nodes.map((node, i) => (i === id ? { ...node, ...change } : node)),
});
const typed = (id: number, type: TensorType): Graph => changed(id, { outputs: [type] });
const withState = (change: Partial<GraphState>): Graph => ({ ...graph, states: [{ ...state!, ...change }] });

/** A conditional whose branches are this. */
function choice(branch: Graph): Graph {
  const b = new GraphBuilder(opTable, "choice");
  const [flag, x] = [b.input("flag", FLAG), b.input("x", ROWS)];
  const same = makeRegion("same", [ROWS], (_g, a) => [a]);
  b.output("y", b.apply("if", [flag, x], {}, { regions: [same, same] })[0]!);
  return changed(2, { regions: [branch, same] }, b.finish());
}

/** A branch that holds a leaf that it may not hold. */
function branchWith(make: (b: GraphBuilder) => unknown): Graph {
  const b = new GraphBuilder(opTable, "branch");
  b.output("y0", b.input("x0", ROWS));
  make(b);
  return b.finish();
}

/** Conditionals in conditionals, put together by hand, for no builder makes them. */
function nest(levels: number): Graph {
  let inner = makeRegion("inner", [FLAG, ROWS], (_g, _flag, a) => [a]);
  const same = inner;
  for (let i = 0; i < levels; i++) {
    const around = makeRegion("around", [FLAG, ROWS], (g, flag, a) => g.if([flag, flag, a], {}, "if", [same, same]));
    inner = changed(2, { regions: [inner, same] }, around);
  }
  return inner;
}

type Said = readonly [code: Finding["code"], node: number | undefined, message: string];
const S = "IR_STRUCTURE";

const cases: Readonly<Record<string, readonly [Graph, ...Said[]]>> = {
  "a node with another id": [changed(4, { id: 7 as NodeId }), [S, 4, "node at 4 says its id is 7"]],
  "an operand that comes later": [
    changed(4, { inputs: [at(0), at(5)] }),
    [S, 4, "add reads node 5, which is not before it"],
  ],
  "a node that reads itself": [
    changed(4, { inputs: [at(0), at(4)] }),
    [S, 4, "add reads node 4, which is not before it"],
  ],
  "an operand that its node does not give": [
    changed(4, { inputs: [at(0), at(1, 1)] }),
    [S, 4, "input 1 of add does not exist"],
  ],
  "an op that there is not": [changed(4, { op: "nope" }), [S, 4, "[nope] no such op"]],
  "an operand too few": [changed(4, { inputs: [at(0)] }), [S, 4, "[add] inputs: got 1, expected 2..2"]],
  "an operand too many": [changed(4, { inputs: [at(0), at(1), at(1)] }), [S, 4, "[add] inputs: got 3, expected 2..2"]],
  "an attribute that the op has not": [
    changed(4, { attrs: { wrong: 1 } }),
    ["IR_ATTRIBUTE", 4, '[add] unknown attribute "wrong": expected none'],
  ],
  "another type than the op gives": [
    changed(5, { outputs: [tensor("f32", [9])] }),
    ["IR_TYPE", 5, "[add] stored type f32[9], inferred f32[T,3]"],
    ["IR_TYPE", 3, "state s changes type from f32[T,3] to f32[9]"],
  ],
  "one output too many": [
    changed(4, { outputs: [ROWS, ROWS] }),
    ["IR_TYPE", 4, "[add] stored type f32[T,3], f32[T,3], inferred f32[T,3]"],
  ],
  "a leaf that reads": [changed(2, { inputs: [at(0)] }), [S, 2, "constant must have no inputs and one output"]],
  "a leaf of two outputs": [changed(0, { outputs: [ROWS, ROWS] }), [S, 0, "input must have no inputs and one output"]],
  "a leaf of no output": [changed(2, { outputs: [] }), [S, 2, "constant must have no inputs and one output"]],
  "a leaf with a sub-graph": [changed(1, { regions: [graph] }), [S, 1, "[param] sub-graphs: got 1, expected none"]],
  "a constant without data": [{ ...graph, constants: new Map() }, [S, 2, "constant 2 has no data in the graph"]],
  "a constant of another shape than its data": [
    typed(2, tensor("f32", [1, 1])),
    ["IR_TYPE", 2, "constant 2 is f32[1,1], its data is f32[1]"],
  ],
  "a constant of another element type than its data": [
    typed(2, tensor("i32", [1])),
    ["IR_TYPE", 2, "constant 2 is i32[1], its data is f32[1]"],
  ],
  "an input without a name": [changed(0, { attrs: {} }), ["IR_ATTRIBUTE", 0, "input 0 has no name"]],
  "a state that does not say how it goes back": [
    changed(3, { attrs: { name: "s" } }),
    ["IR_ATTRIBUTE", 3, "state 3: got rewind undefined, expected positions, ring, checkpoint, none"],
  ],
  "a ring that does not say how far it goes back": [
    changed(3, { attrs: { name: "s", rewind: "ring" } }),
    ["IR_ATTRIBUTE", 3, "state 3: got spare undefined, expected a whole number from 0"],
  ],
  "a state that goes back as only a ring does": [
    changed(3, { attrs: { name: "s", rewind: "positions", spare: 4 } }),
    ["IR_ATTRIBUTE", 3, "state 3: got spare 4, expected none: it is no ring"],
  ],
  "an input whose name is empty": [changed(0, { attrs: { name: "" } }), ["IR_ATTRIBUTE", 0, "input 0 has no name"]],
  "a weight of no file": [
    changed(1, { attrs: { name: "w", tensor: "w" } }),
    ["IR_ATTRIBUTE", 1, "param 1 does not say which tensor of which file it is"],
  ],
  "a weight that is no tensor": [
    changed(1, { attrs: { name: "w", file: "f" } }),
    ["IR_ATTRIBUTE", 1, "param 1 does not say which tensor of which file it is"],
  ],
  "an input that the signature leaves out": [{ ...graph, inputs: [] }, [S, 0, "input 0 is not in the signature"]],
  "an input that the signature names twice": [
    { ...graph, inputs: [...graph.inputs, ...graph.inputs] },
    [S, undefined, "the signature names an input twice"],
  ],
  "a signature that names no node": [
    { ...graph, inputs: [...graph.inputs, 99 as NodeId] },
    [S, undefined, "the signature names node 99, which is no input"],
  ],
  "an output that does not exist": [
    { ...graph, outputs: [{ ...output!, value: at(99) }] },
    [S, undefined, "output y names a value that does not exist"],
  ],
  "two outputs of one name": [{ ...graph, outputs: [output!, output!] }, [S, undefined, "two outputs share a name"]],
  "a state without its leaf": [
    withState({ input: 1 as NodeId }),
    [S, 3, "no state owns leaf 3"],
    [S, undefined, "state s has no state leaf"],
  ],
  "a state that becomes what does not exist": [
    withState({ output: at(99) }),
    [S, undefined, "state s names a value that does not exist"],
  ],
  "a state that changes its type": [
    withState({ output: at(1) }),
    ["IR_TYPE", 3, "state s changes type from f32[T,3] to f32[3]"],
  ],
  "a state leaf that no state owns": [{ ...graph, states: [] }, [S, 3, "no state owns leaf 3"]],
  "two states over one leaf": [
    { ...graph, states: [state!, { ...state!, name: "t" }] },
    [S, 3, "leaf 3 is read for s and t"],
  ],
  "two states of one name": [
    { ...graph, states: [state!, state!] },
    [S, 3, "leaf 3 is read for s and s"],
    [S, undefined, "two states share a name"],
  ],
  "a negative limit": [{ ...graph, symbolLimits: { T: -1 } }, ["IR_SHAPE", undefined, "the limit of T is -1"]],
  "a limit that is no whole number": [
    { ...graph, symbolLimits: { T: 1.5 } },
    ["IR_SHAPE", undefined, "the limit of T is 1.5"],
  ],
  "a negative size": [
    changed(
      1,
      { outputs: [tensor("f32", [-3])] },
      { ...graph, nodes: graph.nodes.slice(0, 4), outputs: [], states: [] },
    ),
    [
      "IR_SHAPE",
      1,
      "param of type f32[-3]: [dim] bad size: got -3, expected a whole number from 0 to 9007199254740991",
    ],
    [S, 3, "no state owns leaf 3"],
  ],
  "packed rows of half a block": [
    changed(
      1,
      { outputs: [tensor("q8_0", [2, 48])] },
      { ...graph, nodes: graph.nodes.slice(0, 4), outputs: [], states: [] },
    ),
    [
      "IR_SHAPE",
      1,
      "param of type q8_0[2,48]: [q8_0] q8_0[2,48] has rows that are not a whole number of 32-element blocks",
    ],
    [S, 3, "no state owns leaf 3"],
  ],
  "a size in another spelling": [
    changed(
      0,
      { outputs: [tensor("f32", ["T*2"])] },
      { ...graph, nodes: graph.nodes.slice(0, 4), outputs: [], states: [] },
    ),
    ["IR_SHAPE", 0, "input of type f32[T*2]: the size T*2 has to be written 2*T"],
    [S, 3, "no state owns leaf 3"],
  ],
  "a sub-graph too few": [
    changed(2, { regions: [] }, choice(makeRegion("r", [ROWS], (_g, a) => [a]))),
    [S, 2, "[if] sub-graphs: got 0, expected then, else"],
  ],
  "a sub-graph with a weight": [
    choice(branchWith((b) => b.param("w", ROWS, { file: "f", tensor: "w" }))),
    [S, undefined, "%2 then: node 1 is a param: a region is handed weights and states as operands"],
  ],
  "a sub-graph with a state": [
    choice(branchWith((b) => b.state("s", ROWS))),
    [S, undefined, "%2 then: node 1 is a state: a region is handed weights and states as operands"],
    [S, undefined, "%2 then: a region has no states of its own"],
  ],
  "a fault in a sub-graph": [
    choice(
      changed(
        1,
        { outputs: [scalar("i32")] },
        branchWith((b) => b.constant(hostScalar("f32", 1))),
      ),
    ),
    ["IR_TYPE", 1, "%2 then: constant 1 is i32[], its data is f32[]"],
  ],
};

describe("verifier", () => {
  it("has nothing to say of a built graph", () => {
    expect(verify(opTable, graph)).toEqual([]);
    expect(verify(opTable, choice(makeRegion("same", [ROWS], (_g, a) => [a])))).toEqual([]);
  });

  it.each(Object.entries(cases))("finds %s", (_what, [broken, ...said]) => {
    expect(verify(opTable, broken).map(({ code, node, message }) => [code, node, message])).toEqual(said);
  });

  it("ends where sub-graphs are nested without an end", () => {
    expect(verify(opTable, nest(DEEPEST_NEST))).toEqual([]);
    const findings = verify(opTable, nest(DEEPEST_NEST + 3));
    const deepest = findings.filter(({ message }) => message.includes("sub-graphs are nested deeper than 16"));
    expect(deepest.map(({ node, path }) => ({ node, levels: path?.length }))).toEqual([
      { node: 2, levels: DEEPEST_NEST },
    ]);
    const regions = findings.filter(({ message }) => message.includes("regions are nested deeper than 16"));
    expect(regions.map(({ path }) => path?.length)).toEqual([1, 2, 3]);
    expect(findings).toHaveLength(4);
  });
});
