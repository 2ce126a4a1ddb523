/** Sub-graphs in everything that the IR does: building, verifying, hashing, printing, specialising. */
import { finish } from "./steps.ts";
import { describe, expect, it } from "vitest";
import { makeRegion, opTable, typedBuilder } from "../ops/index.ts";
import { evaluate } from "../ops/evaluate.ts";
import { GraphBuilder } from "./builder.ts";
import type { Graph, Node, NodeId } from "./graph.ts";
import { graphHash } from "./hash.ts";
import { hostScalar, hostTensor } from "./hostTensor.ts";
import { printGraph } from "./text/print.ts";
import { DEEPEST_NEST, nestOf } from "./regions.ts";
import { specialize } from "./specialize.ts";
import { scalar, tensor } from "./type.ts";
import { verify } from "./verify.ts";

const ROWS = tensor("f32", ["T", 3]);

/** if flag: while i < 2: x ← x · factor, else x. */
function nested(factor = 2): Graph {
  const b = new GraphBuilder(opTable, "nested");
  const g = typedBuilder(b);
  const [flag, x] = [b.input("flag", scalar("bool")), b.input("x", ROWS)];
  const loop = [scalar("i32"), ROWS];
  const [y] = g.if([flag, x], {}, "choice", [
    g.region("then", [ROWS], (h, a) => {
      const [, last] = h.while([h.constant(hostScalar("i32", 0)), a], { carried: 2, maxIterations: "T" }, "loop", [
        h.region("condition", loop, (k, i) => [k.compare([i, k.constant(hostScalar("i32", 2))], { op: "lt" })]),
        h.region("body", loop, (k, i, c) => [
          k.add([i, k.constant(hostScalar("i32", 1))]),
          k.mul([c, k.constant(hostScalar("f32", factor))]),
        ]),
      ]);
      return last === undefined ? [] : [last];
    }),
    g.region("else", [ROWS], (_h, a) => [a]),
  ]);
  b.output("y", y!);
  return b.finish();
}

const conditional = (graph: Graph): Node => graph.nodes.find((node) => node.op === "if")!;
/** The graph with the innermost body changed. */
function withBody(graph: Graph, change: (body: Graph) => Graph): Graph {
  const inThen = (then: Graph): Graph => ({
    ...then,
    nodes: then.nodes.map((node) =>
      node.op === "while" ? { ...node, regions: [node.regions[0]!, change(node.regions[1]!)] } : node,
    ),
  });
  return {
    ...graph,
    nodes: graph.nodes.map((node) =>
      node.op === "if" ? { ...node, regions: [inThen(node.regions[0]!), node.regions[1]!] } : node,
    ),
  };
}

describe("building", () => {
  const x = tensor("f32", [2]);
  const same = makeRegion("same", [x], (_g, a) => [a]);
  const build =
    (op: "if" | "while", inputs: readonly ReturnType<typeof tensor>[], regions: readonly Graph[], attrs = {}) =>
    () => {
      const b = new GraphBuilder(opTable, "g");
      return b.apply(
        op,
        inputs.map((type, i) => b.input(`x${i}`, type)),
        attrs,
        { regions },
      );
    };
  const flag = scalar("bool");

  it.each([
    ["too few sub-graphs", build("if", [flag, x], [same]), "IR_STRUCTURE", "got 1, expected then, else"],
    [
      "sub-graphs where there are none",
      () => new GraphBuilder(opTable, "g").apply("iota", [], { shape: [2], axis: 0 }, { regions: [same] }),
      "IR_STRUCTURE",
      "expected none",
    ],
    ["a predicate that is no truth value", build("if", [scalar("f32"), x], [same, same]), "IR_TYPE", "f32[]"],
    ["a predicate of several", build("if", [tensor("bool", [2]), x], [same, same]), "IR_TYPE", "bool[2]"],
    ["other inputs than operands", build("if", [flag, tensor("f32", [3])], [same, same]), "IR_TYPE", "inputs of then"],
    [
      "other outputs",
      build("if", [flag, x], [same, makeRegion("two", [x], (_g, a) => [a, a])]),
      "IR_TYPE",
      "outputs of else",
    ],
    [
      "a condition that is a number",
      build("while", [x], [same, same], { carried: 1 }),
      "IR_TYPE",
      "outputs of condition",
    ],
    ["more carried than given", build("while", [x], [same, same], { carried: 2 }), "IR_ATTRIBUTE", "at most 1"],
    [
      "a packed value carried",
      build("while", [tensor("q8_0", [2, 32])], [same, same], { carried: 1 }),
      "IR_TYPE",
      "packed",
    ],
    [
      "a packed value handed through",
      () => {
        const handed = makeRegion("handed", [tensor("q8_0", [2, 32])], (_g, a) => [a]);
        return build("if", [flag, tensor("q8_0", [2, 32])], [handed, handed])();
      },
      "IR_TYPE",
      "packed",
    ],
  ] as const)("refuses %s", (_, make, code, message) => {
    expect(make).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });

  it("refuses weights and states inside, and nests without an end", () => {
    const b = new GraphBuilder(opTable, "weight");
    b.input("x0", x);
    b.output("y0", b.param("w", x, { file: "f", tensor: "w" }));
    const weight = b.finish();
    expect(build("if", [flag, x], [weight, same])).toThrow(
      expect.objectContaining({ code: "IR_STRUCTURE", message: expect.stringContaining("then: node 1 is a param") }),
    );
    const types = [flag, x];
    let inner = makeRegion("0", types, (_g, _p, a) => [a]);
    const wrap = (): void => {
      const region = inner;
      inner = makeRegion("more", types, (g, p, a) => g.if([p, p, a], {}, "if", [region, region]));
    };
    for (let i = 1; i < DEEPEST_NEST; i++) wrap();
    expect(nestOf(inner)).toBe(DEEPEST_NEST - 1);
    wrap();
    expect(wrap).toThrow(expect.objectContaining({ code: "IR_STRUCTURE", message: expect.stringContaining("deeper") }));
  });
});

describe("verifying", () => {
  it("has nothing to say of a built graph", () => expect(verify(opTable, nested())).toEqual([]));

  it("finds faults in a sub-graph of a sub-graph, all of them, with the way there", () => {
    const broken = withBody(nested(), (body) => ({
      ...body,
      constants: new Map(),
      nodes: body.nodes.map((node) =>
        node.op === "mul" ? { ...node, inputs: [{ node: 99 as NodeId, output: 0 }, node.inputs[1]!] } : node,
      ),
    }));
    const findings = verify(opTable, broken);
    const place = `%${conditional(broken).id} then`;
    expect(findings).toHaveLength(3);
    for (const finding of findings) {
      expect(finding.path).toEqual([place, "%2 body"]);
      expect(finding.message).toMatch(new RegExp(`^${place}: %2 body: `));
    }
    expect(findings.filter(({ message }) => message.includes("has no data"))).toHaveLength(2);
  });

  it("finds types that no longer fit the node", () => {
    const other = withBody(nested(), (body) => ({ ...body, outputs: [...body.outputs].reverse() }));
    expect(verify(opTable, other)).toEqual([
      expect.objectContaining({ code: "IR_TYPE", message: expect.stringContaining("outputs of body"), node: 2 }),
    ]);
    const one = {
      ...nested(),
      nodes: nested().nodes.map((node) => (node.op === "if" ? { ...node, regions: [] } : node)),
    };
    expect(verify(opTable, one).map(({ message }) => message)).toContain("[if] sub-graphs: got 0, expected then, else");
  });
});

describe("hashing and printing", () => {
  it("sees everything inside", () => {
    expect(graphHash(nested())).toBe(graphHash(nested()));
    expect(graphHash(nested(3))).not.toBe(graphHash(nested()));
    const swapped = nested();
    const node = conditional(swapped);
    const nodes = swapped.nodes.map((n) => (n === node ? { ...n, regions: [...n.regions].reverse() } : n));
    expect(graphHash({ ...swapped, nodes })).not.toBe(graphHash(swapped));
  });

  it("prints sub-graphs below their node", () => {
    expect(printGraph(nested()).replaceAll(/"[0-9a-f]{32}"/g, '"…"')).toMatchInlineSnapshot(`
      "graph "nested" {
        %0 = input "flag" : bool[]
        %1 = input "x" : f32[T,3]
        %2 = if(%0, %1) : f32[T,3] @ "" "choice" 2
          graph "then" {
            %0 = input "x0" : f32[T,3]
            %1 = constant 0 : i32[]
            %2 = while(%1, %0) {carried: 2, maxIterations: "T"} : i32[], f32[T,3] @ "" "loop" 2
              graph "condition" {
                %0 = input "x0" : i32[]
                %1 = input "x1" : f32[T,3]
                %2 = constant 2 : i32[]
                %3 = compare(%0, %2) {op: "lt"} : bool[]
                return "y0" = %3
              }
              graph "body" {
                %0 = input "x0" : i32[]
                %1 = input "x1" : f32[T,3]
                %2 = constant 1 : i32[]
                %3 = add(%0, %2) : i32[]
                %4 = constant 2 : f32[]
                %5 = mul(%1, %4) : f32[T,3]
                return "y0" = %3
                return "y1" = %5
              }
            return "y0" = %2.1
          }
          graph "else" {
            %0 = input "x0" : f32[T,3]
            return "y0" = %0
          }
        return "y" = %2
      }"
    `);
  });
});

describe("specialising", () => {
  it("binds symbols inside, types and attributes", () => {
    const bound = finish(specialize(opTable, nested(), { T: 2 }));
    expect(verify(opTable, bound)).toEqual([]);
    expect(printGraph(bound)).not.toMatch(/\bT\b/);
    expect(printGraph(bound)).toContain("maxIterations: 2");
    const inputs = { flag: hostScalar("bool", 1), x: hostTensor("f32", [2, 3], [1, 2, 3, 4, 5, 6]) };
    expect([...finish(evaluate(bound, { inputs })).outputs["y"]!.data]).toEqual([4, 8, 12, 16, 20, 24]);
  });
});
