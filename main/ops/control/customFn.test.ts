/** Functions with rules of their own: which rule is taken where, inside control flow and to any order, and what is refused. */
import { describe, expect, it } from "vitest";
import { compileNow } from "../../compiler/compile.ts";
import type { Graph } from "../../ir/graph.ts";
import { graphHash } from "../../ir/hash.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
import { printWhole } from "../../ir/text/print.ts";
import type { GraphMaker } from "../../library/graphs.ts";
import {
  customFunction,
  evaluate,
  buildGraph,
  grad,
  jvp,
  parseGraph,
  scanOver,
  verifyGraph,
  vjp,
  vmap,
} from "../../library/index.ts";
import type { CustomFunction, Value } from "../../library/index.ts";

const code = (name: string, message: string): unknown =>
  expect.objectContaining({ code: name, message: expect.stringContaining(message) as unknown });

/** Rounds; a gradient goes straight through, three times as large so that it is told from that of anything else. */
const rounded = customFunction({
  name: "rounded",
  forward: (g, x) => [g.round([x])],
  vjp: ({ g, cotangents: [ct] }) => [ct && g.add([ct, g.add([ct, ct])])],
});

const graphOf = (build: (g: GraphMaker, x: Value) => Value, type = "f32[3]"): Graph =>
  buildGraph("test", (g) => {
    const y = build(g, g.input("x", type));
    g.output("y", y);
    g.output("sum", g.reduce([y], { kind: "sum", axes: g.typeOf(y).shape.map((_, axis) => axis) }));
  });
const gradientAt = (graph: Graph, x: readonly number[]): readonly number[] => {
  const made = grad(graph, { of: "sum", wrt: ["x"] });
  expect(verifyGraph(made)).toEqual([]);
  return [...evaluate(made, { x }).outputs["gradient.x"]!.data];
};
const first = (values: readonly Value[]): Value => values[0]!;

describe("a function's own rule", () => {
  it("is its gradient", () => {
    const graph = graphOf((g, x) => first(rounded(g, [x])));
    expect([...evaluate(graph, { x: [0.4, 1.6, -2.2] }).outputs["y"]!.data]).toEqual([0, 2, -2]);
    expect(gradientAt(graph, [0.4, 1.6, -2.2])).toEqual([3, 3, 3]);
  });

  it("is taken inside scan, if and while", () => {
    const scanned = graphOf((g, x) => {
      const rows = scanOver(g, { rows: [x] }, (h, lists) => ({ carry: [], rows: [first(rounded(h, lists.rows))] }));
      return first(rows.rows);
    });
    expect(gradientAt(scanned, [0.4, 1.6, 2])).toEqual([3, 3, 3]);
    const chosen = graphOf((g, x) => {
      const types = [g.typeOf(x)];
      const branches = [g.region("then", types, (h, y) => rounded(h, [y])), g.region("else", types, (_h, y) => [y])];
      return first(g.if([g.constant(hostScalar("bool", 1)), x], {}, "choice", branches));
    });
    expect(gradientAt(chosen, [0.4, 1.6, 2])).toEqual([3, 3, 3]);
    const looped = graphOf((g, x) => {
      const types = [g.typeOf(x)];
      const regions = [
        g.region("condition", types, (h) => [h.constant(hostScalar("bool", 1))]),
        g.region("body", types, (h, y) => rounded(h, [y])),
      ];
      return first(g.while([x], { carried: 1, maxIterations: 2 }, "loop", regions));
    });
    expect(gradientAt(looped, [0.4, 1.6, 2])).toEqual([9, 9, 9]);
  });

  /** x³ with a rule that takes the square for another function with a rule. */
  const square = customFunction({
    name: "square",
    forward: (g, x) => [g.mul([x, x])],
    jvp: ({ g, inputs: [x], tangents: [t] }) => [x && t && g.mul([g.add([x, x]), t])],
  });
  const cube = customFunction({
    name: "cube",
    forward: (g, x) => [g.mul([x, g.mul([x, x])])],
    vjp: ({ g, inputs: [x], cotangents: [ct] }) => {
      if (x === undefined || ct === undefined) return [undefined];
      const two = first(square(g, [x]));
      return [g.mul([ct, g.add([two, g.add([two, two])])])];
    },
  });

  it("is differentiated again, to any order, both ways", () => {
    const graph = graphOf((g, x) => first(cube(g, [x])), "f32[]");
    let derived = grad(graph, { of: "sum", wrt: ["x"] });
    const at = (name: string): number | undefined => evaluate(derived, { x: [2] }).outputs[name]?.data[0];
    expect(at("gradient.x")).toBe(12);
    derived = grad(derived, { of: "gradient.x", wrt: ["x"] });
    expect(at("gradient.x")).toBe(12);
    derived = grad(derived, { of: "gradient.x", wrt: ["x"] });
    expect(at("gradient.x")).toBe(6);
    // Forward mode by the transpose of the rule for backwards, and through the other's own.
    const moved = jvp(grad(graph, { of: "sum", wrt: ["x"] }), { of: ["gradient.x"], wrt: ["x"] });
    expect(evaluate(moved, { x: [2], "tangent.x": [10] }).outputs["tangent.gradient.x"]?.data[0]).toBe(120);
  });

  it("for forward mode serves both, and one for each is taken where it belongs", () => {
    const twice: CustomFunction["jvp"] = ({ g, tangents: [t] }) => [t && g.add([t, t])];
    const one = customFunction({ name: "one", forward: (g, x) => [g.round([x])], jvp: twice });
    expect(
      gradientAt(
        graphOf((g, x) => first(one(g, [x]))),
        [0.4, 1, 2],
      ),
    ).toEqual([2, 2, 2]);
    const both = customFunction({
      name: "both",
      forward: (g, x) => [g.round([x])],
      vjp: ({ cotangents }) => cotangents,
      jvp: twice,
    });
    const graph = graphOf((g, x) => first(both(g, [x])));
    expect(gradientAt(graph, [0.4, 1, 2])).toEqual([1, 1, 1]);
    const moved = jvp(graph, { of: ["y"], wrt: ["x"] });
    const made = evaluate(moved, { x: [0, 1, 2], "tangent.x": [1, 2, 3] }).outputs["tangent.y"]!;
    expect([...made.data]).toEqual([2, 4, 6]);
  });

  it("is not needed: the function's own derivative is there, without a limit for its loops", () => {
    const plain = customFunction({
      name: "plain",
      forward: (g, x) => {
        const types = [g.typeOf(x)];
        return g.while([x], { carried: 1 }, "loop", [
          g.region("condition", types, (h, y) => [
            h.compare([h.reduce([y], { kind: "max", axes: [0] }), h.constant(hostScalar("f32", 50))], { op: "lt" }),
          ]),
          g.region("body", types, (h, y) => [h.add([y, y])]),
        ]);
      },
    });
    const moved = jvp(
      graphOf((g, x) => first(plain(g, [x]))),
      { of: ["y"], wrt: ["x"] },
    );
    const made = evaluate(moved, { x: [20, 1, 2], "tangent.x": [1, 2, 3] }).outputs["tangent.y"]!;
    expect([...made.data]).toEqual([4, 8, 12]);
  });
});

describe("batches", () => {
  /** Its rule for batches gives a thousand more than the function. */
  const marked = customFunction({
    name: "marked",
    forward: (g, x) => [g.reduce([x], { kind: "sum", axes: [0] })],
    vmap: ({ g, inputs: [x] }) => {
      const sums = x === undefined ? [] : [g.reduce([x], { kind: "sum", axes: [1] })];
      return sums.map((sum) => g.add([sum, g.constant(hostScalar("f32", 1000))]));
    },
  });

  it("are the function's own where it says so, also inside another batch", () => {
    const graph = buildGraph("sum", (g) => g.output("y", first(marked(g, [g.input("x", "f32[3]")]))));
    const two = vmap(graph, { size: 2, inAxes: { x: 0 } });
    expect(verifyGraph(two)).toEqual([]);
    expect([...evaluate(two, { x: [1, 2, 3, 4, 5, 6] }).outputs["y"]!.data]).toEqual([1006, 1015]);
    const four = vmap(two, { size: 2, inAxes: { x: 0 } });
    const x = [1, 2, 3, 4, 5, 6, 0, 0, 0, 1, 1, 1];
    expect([...evaluate(four, { x }).outputs["y"]!.data]).toEqual([1006, 1015, 1000, 1003]);
  });

  it("of a symbol are the rule's with that symbol; a rule for one number of items is refused for another", () => {
    const sum = (own: typeof marked): Graph =>
      buildGraph("sum", (g) => g.output("y", first(own(g, [g.input("x", "f32[3]")]))));
    for (const size of ["items", "B", "2*B"]) {
      const many = vmap(sum(marked), { size, inAxes: { x: 0 } });
      const { outputs } = evaluate(many, { x: [1, 2, 3, 4, 5, 6] }, size === "2*B" ? { symbols: { B: 1 } } : {});
      expect([...outputs["y"]!.data]).toEqual([1006, 1015]);
    }
    const two = buildGraph("two", (g) =>
      g.output("y", g.reduce([g.input("x", "f32[2,3]")], { kind: "sum", axes: [1] })),
    );
    const fixed = customFunction({
      name: "fixed",
      forward: (g, x) => [g.reduce([x], { kind: "sum", axes: [0] })],
      vmap: two,
    });
    expect(() => vmap(sum(fixed), { size: 3, inAxes: { x: 0 } })).toThrow(
      code("UNSUPPORTED_OP", "vmap: got 3 items, expected 2, which its rule is for"),
    );
  });

  it("keep the rules for derivatives, and give what all items share the sum of their cotangents", () => {
    const scaled = customFunction({
      name: "scaled",
      forward: (g, x, w) => [g.mul([x, w])],
      vjp: ({ g, inputs: [x, w], cotangents: [ct] }) =>
        x && w && ct ? [g.mul([ct, w]), g.mul([g.add([x, x]), ct])] : [undefined, undefined],
    });
    const graph = buildGraph("scaled", (g) =>
      g.output("y", first(scaled(g, [g.input("x", "f32[2]"), g.input("w", "f32[2]")]))),
    );
    for (const inAxes of [{ x: 0 }, { x: 0, w: null }]) {
      const back = vjp(vmap(graph, { size: 3, inAxes }), { of: ["y"], wrt: ["x", "w"] });
      const given = { x: [1, 2, 3, 4, 5, 6], w: [10, 20], "cotangent.y": [1, 1, 1, 1, 1, 1] };
      const { outputs } = evaluate(back, given);
      expect([...outputs["gradient.x"]!.data]).toEqual([10, 20, 10, 20, 10, 20]);
      // Twice the sum over the items: the rule says so.
      expect([...outputs["gradient.w"]!.data]).toEqual([18, 24]);
    }
  });
});

describe("a wrong rule is refused by its name", () => {
  const call = (own: Partial<CustomFunction>): (() => unknown) => {
    const made = customFunction({ name: "wrong", forward: (g, x) => [g.exp([x])], ...own });
    return () => graphOf((g, x) => first(made(g, [x])));
  };
  it.each([
    [
      "a cotangent too many",
      { vjp: ({ cotangents }) => [...cotangents, ...cotangents] },
      "outputs of vjp: got 2, expected 1",
    ],
    [
      "a cotangent of another type",
      { vjp: ({ g, cotangents: [ct] }) => [ct && g.reduce([ct], { kind: "sum", axes: [0] })] },
      "outputs of vjp: got f32[], expected f32[3]",
    ],
    ["no tangent", { jvp: () => [] }, "outputs of jvp: got 0, expected 1"],
    [
      "a tangent of another type",
      { jvp: ({ g, tangents: [t] }) => [t && g.cast([t], { to: "f16" })] },
      "outputs of jvp: got f16[3], expected f32[3]",
    ],
    [
      "items of another type",
      { vmap: ({ g, inputs }) => [g.transpose([inputs[0]!], { perm: [1, 0] })] },
      "of vmap: got",
    ],
    [
      "a graph for another function",
      { vjp: graphOf((_g, x) => x) },
      "inputs of vjp: got f32[3], expected f32[3], f32[3], f32[3]",
    ],
  ] satisfies [string, Partial<CustomFunction>, string][])("%s", (_, own, message) => {
    expect(call(own)).toThrow(code("IR_TYPE", message));
  });

  it("one for what has no derivative, too", () => {
    const made = customFunction({
      name: "whole",
      forward: (g, n) => [g.cast([n], { to: "f32" })],
      vjp: ({ cotangents }) => cotangents,
    });
    expect(() => graphOf((g, n) => first(made(g, [n])), "i32[3]")).toThrow(
      code("IR_TYPE", "outputs of vjp: got f32[3], expected none for i32[3], which has no derivative"),
    );
  });

  it("and so is an axis of items that is an operand's", () => {
    const rule = buildGraph("rule", (g) => g.output("y", g.input("x", "f32[T,T]")));
    const made = customFunction({ name: "same", forward: (_g, x) => [x], vmap: rule });
    expect(() => graphOf((g, x) => first(made(g, [x])), "f32[T]")).toThrow(code("IR_SHAPE", "its axis of items is T"));
  });
});

it("parts may be graphs; text and hash hold them all; no device is left with it", () => {
  const forward = buildGraph("f", (g) => g.output("y", g.round([g.input("x", "f32[3]")])));
  const back = buildGraph("b", (g) => {
    for (const name of ["x", "y"]) g.input(name, "f32[3]");
    g.output("dx", g.neg([g.input("ct", "f32[3]")]));
  });
  const turned = customFunction({ name: "turned", forward, vjp: back });
  const graph = graphOf((g, x) => first(turned(g, [x])));
  expect(gradientAt(graph, [1, 2, 3])).toEqual([-1, -1, -1]);
  const read = parseGraph(printWhole(graph));
  expect(graphHash(read)).toBe(graphHash(graph));
  expect(gradientAt(read, [1, 2, 3])).toEqual([-1, -1, -1]);
  const other = graphOf((g, x) => first(customFunction({ name: "turned", forward })(g, [x])));
  expect(graphHash(other)).not.toBe(graphHash(graph));
  for (const backend of ["cpu", "mlx", "coreml"] as const) {
    const compiled = compileNow(graph, { backend });
    expect(compiled.graph.nodes.map(({ op }) => op)).not.toContain("custom_fn");
  }
});
