import { finish } from "../ir/steps.ts";
import { describe, expect, it, vi } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import type { DType } from "../ir/dtype.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { commonSubexpressions } from "./commonSubexpressions.ts";
import { LARGEST_OPERANDS, LARGEST_RESULT, constantFolding } from "./constantFolding.ts";
import { deadCode } from "./deadCode.ts";
import type { Pass } from "../ir/pass.ts";
import { unchanged } from "../ir/pass.ts";
import { countOps, runPipeline } from "./pipeline.ts";
import { simplify } from "./simplify.ts";

function build(make: (g: OpBuilder, b: GraphBuilder) => Value): Graph {
  const b = new GraphBuilder(opTable, "test");
  b.output("y", make(typedBuilder(b), b));
  return b.finish();
}

const opsOf = (graph: Graph): readonly string[] =>
  graph.nodes.filter((n) => !["input", "param", "constant", "state"].includes(n.op)).map((n) => n.op);

function opsAfter(pass: Pass, graph: Graph): readonly string[] {
  const { graph: after } = pass.run(graph);
  expect(verify(opTable, after)).toEqual([]);
  return opsOf(after);
}

describe("general passes", () => {
  it("drop dead nodes but keep the signature", () => {
    const graph = build((g, b) => {
      const x = b.input("x", tensor("f32", [3]));
      b.input("unused", tensor("f32", [3]));
      g.exp([x]);
      return g.sin([x]);
    });
    const { graph: after, hits, moved } = deadCode.run(graph);
    expect(hits).toBe(1);
    expect(opsOf(after)).toEqual(["sin"]);
    expect(after.inputs).toHaveLength(2);
    expect([...moved]).toEqual([0, 1, -1, 2]);
  });

  it("merge equal nodes, commuted ones too, with the origins of both", () => {
    const graph = build((g, b) => {
      const [x, y] = [b.input("x", tensor("f32", [3])), b.input("y", tensor("f32", [3]))];
      const one = g.add([x, y], {}, "one");
      const two = g.add([y, x], {}, "two");
      const differs = g.sub([g.sub([x, y]), g.sub([y, x])]);
      return g.mul([g.mul([g.sin([one]), g.sin([two])]), differs]);
    });
    const { graph: after, hits } = commonSubexpressions.run(graph);
    expect(hits).toBe(2);
    expect(countOps(after)).toMatchObject({ add: 1, sin: 1, sub: 3 });
    expect(after.nodes.find((n) => n.op === "add")?.origins.map((o) => o.label)).toEqual(["one", "two"]);
  });

  it("do not merge what differs in an attribute, an output or a type", () => {
    const graph = build((g, b) => {
      const x = b.input("x", tensor("f32", [4, 4]));
      const sums = [0, 1].map((axis) => g.reduce([x], { kind: "sum", axes: [axis] }));
      const kinds = g.add([g.reduce([x], { kind: "max", axes: [0] }), sums[0]!]);
      const [a, c] = g.split([x], { axis: 0, sizes: [2, 2] });
      const parts = g.add([g.exp([a!]), g.exp([c!])]);
      const types = g.cast([g.cast([kinds], { to: "f16" })], { to: "f32" });
      const doubles = g.cast([g.cast([kinds], { to: "bf16" })], { to: "f32" });
      return g.add([g.add([types, doubles]), g.add([sums[1]!, g.reduce([parts], { kind: "sum", axes: [0] })])]);
    });
    expect(commonSubexpressions.run(graph).hits).toBe(0);
    const limits = build((g, b) => {
      const x = b.input("x", tensor("f32", [4]));
      const [a, c] = [Infinity, -Infinity].map((eps) => g.rms_norm([x, x], { eps }));
      return g.add([a!, c!]);
    });
    expect(commonSubexpressions.run(limits).hits).toBe(0);
  });

  it("fold what is known, and neither weights nor large results", () => {
    const graph = build((g, b) => {
      const two = b.constant(hostScalar("f32", 2));
      const w = b.param("w", tensor("f32", [4]), { file: "f", tensor: "w" });
      const known = g.sqrt([g.add([two, two])]);
      const large = g.expand([known], { shape: [LARGEST_RESULT + 1] });
      const kept = g.reduce([large], { kind: "sum", axes: [0] });
      return g.mul([g.mul([w, known]), kept]);
    });
    const { graph: after, misses } = constantFolding.run(graph);
    expect(opsOf(after)).toEqual(["expand", "reduce", "mul", "mul"]);
    expect([...after.constants.values()].map((c) => c.data[0])).toContain(2);
    expect(misses.map((m) => m.why)).toEqual([expect.stringContaining("too large")]);
  });

  it("fold the largest operands that they may, and nothing that costs more to work out", () => {
    const total = (size: number): Graph =>
      build((g, b) => {
        const known = b.constant(hostTensor("f32", [size], new Float64Array(size).fill(1)));
        return g.reduce([known], { kind: "sum", axes: [0] });
      });
    const small = constantFolding.run(total(LARGEST_OPERANDS));
    expect([opsOf(small.graph), small.misses]).toEqual([[], []]);
    const { graph, misses } = constantFolding.run(total(LARGEST_OPERANDS + 1));
    expect(opsOf(graph)).toEqual(["reduce"]);
    expect(misses.map(({ why }) => why)).toEqual([
      "reduce to f32[] is too large to become a constant (4096 elements at most, from 65536)",
    ]);
  });

  it("round folded values to their dtype", () => {
    const graph = build((g, b) => g.mul([b.input("x", tensor("f32", [])), g.sin([b.constant(hostScalar("f32", 1))])]));
    const folded = [...constantFolding.run(graph).graph.constants.values()].map((c) => c.data[0]);
    expect(folded).toContain(Math.fround(Math.sin(1)));
  });

  it("cancel movements", () => {
    const graph = build((g, b) => {
      const x = b.input("x", tensor("f32", ["T", 6]));
      const split = g.reshape([g.reshape([x], { shape: ["T", 2, 3] })], { shape: ["T", 3, 2] });
      const turned = g.transpose([g.transpose([split], { perm: [1, 2, 0] })], { perm: [2, 0, 1] });
      const wide = g.cast([g.cast([turned], { to: "f64" })], { to: "f32" });
      const back = g.reshape([g.expand([wide], { shape: ["T", 3, 2] })], { shape: ["T", 6] });
      return g.exp([back]);
    });
    expect(opsAfter(simplify, graph)).toEqual(["exp"]);
    const narrowing = build((g, b) =>
      g.cast([g.cast([b.input("x", tensor("f32", [2]))], { to: "f16" })], { to: "f32" }),
    );
    expect(opsAfter(simplify, narrowing)).toEqual(["cast", "cast"]);
  });

  const x = (b: GraphBuilder, dtype: DType = "f32"): Value => b.input("x", tensor(dtype, [2, 3]));
  const repeats: readonly (readonly [string, readonly string[], (g: OpBuilder, b: GraphBuilder) => Value])[] = [
    ["relu of relu", ["relu"], (g, b) => g.relu([g.relu([g.relu([x(b)])])])],
    ["the same clamp", ["clamp"], (g, b) => g.clamp([g.clamp([x(b)], { low: -1 })], { low: -1 })],
    ["clamps with other bounds", ["clamp", "clamp"], (g, b) => g.clamp([g.clamp([x(b)], { low: -1 })], { high: 1 })],
    ["exp, which is not idempotent", ["exp", "exp"], (g, b) => g.exp([g.exp([x(b)])])],
    [
      "the larger of a value and itself",
      ["sin"],
      (g, b) => {
        const y = g.sin([x(b)]);
        return g.minimum([g.maximum([y, y]), y]);
      },
    ],
    ["the larger of two values", ["sin", "maximum"], (g, b) => ((y) => g.maximum([y, g.sin([y])]))(x(b))],
    ["neg of neg", ["sin"], (g, b) => g.sin([g.neg([g.neg([x(b)])])])],
    [
      "not of not",
      ["logical_and"],
      (g, b) => ((y) => g.logical_and([y, g.logical_not([g.logical_not([y])])]))(x(b, "bool")),
    ],
    ["three bit_nots", ["bit_not"], (g, b) => g.bit_not([g.bit_not([g.bit_not([x(b, "i32")])])])],
    ["reverse, back", ["sin"], (g, b) => g.sin([g.reverse([g.reverse([x(b)], { axes: [1] })], { axes: [1] })])],
    ["reverse along another axis", ["reverse"], (g, b) => g.reverse([g.reverse([x(b)], { axes: [1] })], { axes: [0] })],
    [
      "expand of expand",
      ["expand"],
      (g, b) => g.expand([g.expand([x(b)], { shape: [4, 2, 3] })], { shape: [5, 4, 2, 3] }),
    ],
  ];
  it.each(repeats)("simplify: %s", (_, ops, make) => {
    expect(opsAfter(simplify, build(make))).toEqual(ops);
  });
});

describe("the verifier between passes", () => {
  const graph = build((g, b) => g.sin([b.input("x", tensor("f32", [3]))]));
  const retyped = (old: Graph): Graph => ({
    ...old,
    nodes: old.nodes.map((node) => (node.op === "sin" ? { ...node, outputs: [tensor("f32", [9])] } : node)),
  });
  const bad: Pass = { name: "bad", reason: "", run: (old) => ({ ...unchanged(old), graph: retyped(old) }) };
  const run = (from: Graph, passes: readonly Pass[], verified: boolean) => () =>
    finish(runPipeline(from, { passes, verify: verified }));
  const fault = "[sin] stored type f32[9], inferred f32[3]";

  it("names the pass that broke the graph, or says that it came broken", () => {
    const refusal = (done: string): unknown =>
      expect.objectContaining({ code: "BUG_INVARIANT", message: `[invariant] ${done}: ${fault}` });
    expect(run(graph, [deadCode, bad, simplify], true)).toThrow(refusal('after pass "bad"'));
    expect(run(retyped(graph), [deadCode], true)).toThrow(refusal("before the passes"));
  });

  it("is there only where it is asked for", () => {
    expect(run(graph, [bad], false)).not.toThrow();
  });
});

describe("long walks", () => {
  /** A chain whose last nodes are the only ones that a pass changes. */
  const chain = (length: number): Graph =>
    build((g, b) => {
      let x = b.input("x", tensor("f32", [3]));
      for (let i = 0; i < length; i++) x = i % 2 === 0 ? g.sin([x]) : g.exp([x]);
      return g.neg([g.neg([x])]);
    });

  it("pause on the way, with the same result", () => {
    const graph = chain(4000);
    const steps = simplify.inPieces!(graph);
    let pauses = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) pauses++;
    // Two walks: one that finds the pair, which copies everything, and one that finds nothing.
    expect(pauses).toBeGreaterThan(30);
    const { graph: after, hits } = step.value;
    expect({ hits, ops: countOps(after) }).toEqual({ hits: 1, ops: countOps(simplify.run(graph).graph) });
    expect(verify(opTable, after)).toEqual([]);
  });

  it("count no pause as their time", () => {
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    const steps = runPipeline(chain(2000), { passes: [simplify] });
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) now += 1000;
    clock.mockRestore();
    expect(now).toBeGreaterThan(10_000);
    expect(step.value.records.map(({ milliseconds }) => milliseconds)).toEqual([0]);
  });
});
