/** Passes in and around sub-graphs: what is folded, and what must stay where it is. */
import { finish } from "../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { gradientGraph } from "../autodiff/vjp.ts";
import { compileNow } from "../compiler/compile.ts";
import { dispatchReport, legalise } from "../compiler/legalise.ts";
import { applyPrecision } from "../compiler/precision.ts";
import { supportOf } from "../compiler/support.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { scalar, tensor } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import { evaluate } from "../ops/evaluate.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { commonSubexpressions } from "./commonSubexpressions.ts";
import { LARGEST_RESULT, constantFolding } from "./constantFolding.ts";
import { deadCode } from "./deadCode.ts";
import { GENERAL_PASSES, runPipeline } from "./pipeline.ts";
import { runNested } from "./runNested.ts";

const ROW = tensor("f32", [4]);
const COUNT = scalar("i32");

function build(make: (g: OpBuilder, x: Value, flag: Value, y: Value) => Value): Graph {
  const b = new GraphBuilder(opTable, "test");
  const [x, flag, y] = [b.input("x", ROW), b.input("flag", scalar("bool")), b.input("y", ROW)];
  b.output("out", make(typedBuilder(b), x, flag, y));
  return b.finish();
}

const inputs = {
  x: hostTensor("f32", [4], [1, -2, 3, 0.5]),
  y: hostTensor("f32", [4], [0.25, 1, -1, 2]),
  flag: hostScalar("bool", 1),
};
const count = (g: OpBuilder, value: number): Value => g.constant(hostScalar("i32", value));

/** After all passes, with the numbers that it had. */
function passed(graph: Graph): Graph {
  const { graph: after } = finish(runPipeline(graph, { passes: GENERAL_PASSES, verify: true }));
  expect(verify(opTable, after)).toEqual([]);
  const [want, got] = [graph, after].map((each) => finish(evaluate(each, { inputs })).outputs["out"]!);
  got!.data.forEach((value, i) => expect(value).toBeCloseTo(want!.data[i]!, 6));
  return after;
}

const opsOf = (graph: Graph): readonly string[] =>
  graph.nodes.map(({ op }) => op).filter((op) => op !== "input" && op !== "constant");
const only = (graph: Graph, op: string) => graph.nodes.find((node) => node.op === op)!;

const choose = (g: OpBuilder, flag: Value, x: Value, make: (h: OpBuilder, a: Value) => Value): Value =>
  g.if([flag, x], {}, "choice", [
    g.region("then", [ROW], (h, a) => [make(h, a)]),
    g.region("else", [ROW], (_h, a) => [a]),
  ])[0]!;

describe("passes and sub-graphs", () => {
  it("a known predicate leaves the branch, and only that", () => {
    const graph = build((g, x) => {
      const known = g.compare([count(g, 1), count(g, 2)], { op: "lt" });
      return choose(g, known, x, (h, a) => h.tanh([a]));
    });
    const after = passed(graph);
    expect(opsOf(after)).toEqual(["tanh"]);
    expect(only(after, "tanh").origins.map(({ label }) => label)).toEqual(["choice"]);
    const other = build((g, x) => choose(g, g.constant(hostScalar("bool", 0)), x, (h, a) => h.tanh([a])));
    expect(opsOf(passed(other))).toEqual([]);
  });

  it("a loop that never turns leaves its start, one that turns stays a loop", () => {
    const loop = (limit: number, most?: number): Graph =>
      build((g, x) => {
        const types = [COUNT, ROW];
        const attrs = { carried: 2, ...(most === undefined ? {} : { maxIterations: most }) };
        return g.while([count(g, 0), x], attrs, "loop", [
          g.region("condition", types, (h, i) => [h.compare([i, count(h, limit)], { op: "lt" })]),
          g.region("body", types, (h, i, a) => [h.add([i, count(h, 1)]), h.sin([a])]),
        ])[1]!;
      });
    expect(opsOf(passed(loop(0)))).toEqual([]);
    expect(opsOf(passed(loop(3, 0)))).toEqual([]);
    expect(opsOf(passed(loop(3)))).toEqual(["while"]);
  });

  it("work inside: dead code, duplicates, constants, fusions", () => {
    const graph = build((g, x, flag, y) => {
      const types = [ROW, ROW, scalar("f32")];
      return g.if([flag, x, y, g.constant(hostScalar("f32", 3))], {}, "choice", [
        g.region("then", types, (h, a, _b, c) => {
          h.exp([a]);
          const scale = h.mul([c, h.add([c, c])]);
          return [h.mul([h.add([h.tanh([a]), h.tanh([a])]), scale])];
        }),
        g.region("else", types, (_h, a) => [a]),
      ])[0]!;
    });
    const after = passed(graph);
    const node = only(after, "if");
    // The constant went inside and was folded there; y has no reader.
    expect(node.inputs).toHaveLength(2);
    expect(opsOf(node.regions[0]!)).toEqual(["tanh", "add", "mul"]);
    expect([...node.regions[0]!.constants.values()].map(({ data }) => [...data])).toEqual([[18]]);
    const { records } = finish(runPipeline(graph, { passes: GENERAL_PASSES }));
    expect(records.find(({ name }) => name === "dead code")!.hits).toBe(1);
  });

  it("what cannot be worked out is left to a branch that may never be taken", () => {
    const outside = (h: OpBuilder): Value => {
      const table = h.constant(hostTensor("f32", [2, 4], [1, 2, 3, 4, 5, 6, 7, 8]));
      return h.gather([table, count(h, 7)], { axis: 0 });
    };
    const graph = build((g, x, flag) => {
      const otherwise = g.compare([g.cast([flag], { to: "i32" }), count(g, 0)], { op: "eq" });
      return choose(g, otherwise, x, (h, a) => h.add([a, outside(h)]));
    });
    expect(opsOf(only(passed(graph), "if").regions[0]!)).toEqual(["gather", "add"]);
    const { records } = finish(runPipeline(graph, { passes: GENERAL_PASSES }));
    expect(records.flatMap(({ misses }) => misses.map(({ why }) => why)).join()).toContain("index out of range: got 7");
  });

  it("tell a miss inside by the node that holds it in the graph before the pass", () => {
    const graph = build((g, x, flag) => {
      // Folded to fewer nodes, so that the conditional comes to stand elsewhere.
      const four = g.sqrt([g.add([g.constant(hostScalar("f32", 8)), g.constant(hostScalar("f32", 8))])]);
      return choose(g, flag, g.mul([x, four]), (h, a) => {
        const wide = h.expand([h.constant(hostScalar("f32", 1))], { shape: [LARGEST_RESULT + 1] });
        return h.add([a, h.reduce([wide], { kind: "max", axes: [0] })]);
      });
    });
    const { graph: after, misses } = finish(runNested(constantFolding, graph));
    const { id } = only(graph, "if");
    expect(only(after, "if").id).toBeLessThan(id);
    expect(misses).toEqual([{ node: id, where: `%${id} then: expand`, why: expect.stringContaining("too large") }]);
  });

  it("merge equal pure nodes; never those that hold a host function or differ inside", () => {
    const twice = (one: (h: OpBuilder, a: Value) => Value, two = one): Graph =>
      build((g, x, flag) => g.add([choose(g, flag, x, one), choose(g, flag, x, two)]));
    const sin = (h: OpBuilder, a: Value): Value => h.sin([a]);
    expect(opsOf(passed(twice(sin)))).toEqual(["if", "add"]);
    expect(opsOf(passed(twice(sin, (h, a) => h.cos([a]))))).toEqual(["if", "if", "add"]);
    const custom = (h: OpBuilder, a: Value): Value =>
      h.custom([a], { name: "soft_threshold", outputs: ["f32[4]"] })[0]!;
    const host = twice(custom);
    const { graph: after } = finish(runPipeline(host, { passes: GENERAL_PASSES, verify: true }));
    expect(opsOf(after)).toEqual(["if", "if", "add"]);
  });

  it("move nothing out of a branch or a loop", () => {
    // The same expression outside, inside, and inside again: one by one they stay.
    const graph = build((g, x, flag) => g.add([g.sin([x]), choose(g, flag, x, (h, a) => h.sin([a]))]));
    const after = passed(graph);
    expect(opsOf(after)).toEqual(["sin", "if", "add"]);
    expect(opsOf(only(after, "if").regions[0]!)).toEqual(["sin"]);
  });
});

describe("the gradient of a loop in a loop", () => {
  it("differentiates each body once for all turns, and passes keep them one", () => {
    const turns = 12;
    const types = [ROW];
    const always = (g: OpBuilder): Graph => g.region("condition", types, (h) => [h.constant(hostScalar("bool", 1))]);
    const repeat = (g: OpBuilder, x: Value, turn: (h: OpBuilder, a: Value) => Value): Value =>
      g.while([x], { carried: 1, maxIterations: turns }, "loop", [
        always(g),
        g.region("body", types, (h, a) => [turn(h, a)]),
      ])[0]!;
    const graph = build((g, x) => repeat(g, x, (h, a) => repeat(h, h.sin([a]), (k, c) => k.tanh([c]))));
    const gradient = gradientGraph(graph, { of: ["out"], wrt: ["x"] });
    const regionsOf = (each: Graph): readonly Graph[] => each.nodes.flatMap((node) => node.regions);
    const backwards = regionsOf(gradient).filter(({ name }) => name === "body gradient");
    expect(backwards).toHaveLength(turns);
    expect(new Set(backwards).size).toBe(1);
    expect(new Set(regionsOf(backwards[0]!).filter(({ name }) => name === "body gradient")).size).toBe(1);
    const { graph: after } = finish(runPipeline(gradient, { passes: [deadCode, commonSubexpressions] }));
    expect(new Set(regionsOf(after).filter(({ name }) => name === "body gradient")).size).toBe(1);
  });
});

describe("the compiler and sub-graphs", () => {
  const spectrum = (): Graph =>
    build((g, x, flag) => choose(g, flag, x, (h, a) => h.fft([a], { inverse: false, norm: "backward" })));

  it("names what in a sub-graph cannot run, keeps the node whole, and reports what is inside", () => {
    const graph = spectrum();
    const node = only(graph, "if");
    const reason = expect.stringMatching(/^its sub-graph then holds fft: Core ML has no Fourier transform/);
    expect(supportOf(graph, node, "coreml")).toMatchObject({ state: "unsupported", reason });
    const { graph: legal, blocked, report } = finish(legalise(graph, "coreml"));
    expect(legal).toBe(graph);
    expect([...blocked]).toEqual([[node.id, reason]]);
    expect(report.counts).toMatchObject({ native: 0, unsupported: 1 });
    expect(report.entries[0]).toMatchObject({ op: "if", state: "unsupported", reason, parts: [] });
    expect(
      report.entries[0]!.inside!.map(({ region, entries }) => [region, entries.map(({ state }) => state)]),
    ).toEqual([
      ["then", ["unsupported"]],
      ["else", []],
    ]);
    expect(finish(dispatchReport(graph, "cpu")).entries[0]).toMatchObject({ state: "native", parts: ["if"] });
  });

  it("makes sub-graphs legal", () => {
    const graph = build((g, x, flag) =>
      choose(g, flag, x, (h, a) => h.batch_norm_inference([a, a, a, a, a], { axis: 0, eps: 4 })),
    );
    const { graph: legal, blocked } = finish(legalise(graph, "coreml"));
    expect(blocked.size).toBe(0);
    const parts = opsOf(only(legal, "if").regions[0]!);
    expect(parts).toContain("rsqrt");
    expect(parts).not.toContain("batch_norm_inference");
    expect(finish(legalise(legal, "coreml")).graph).toBe(legal);
    const want = finish(evaluate(graph, { inputs })).outputs["out"]!;
    expect([...finish(evaluate(legal, { inputs })).outputs["out"]!.data]).toEqual([...want.data]);
  });

  it("uses both branches and a choice where there are none", () => {
    const graph = build((g, x, flag) => choose(g, flag, x, (h, a) => h.tanh([a])));
    const { graph: legal } = finish(legalise(graph, "cpu", undefined, "force-common"));
    expect(opsOf(legal)).toEqual(["tanh", "where"]);
    const want = finish(evaluate(graph, { inputs })).outputs["out"]!;
    expect([...finish(evaluate(legal, { inputs })).outputs["out"]!.data]).toEqual([...want.data]);
  });

  it("computes inside in the type that is asked for", () => {
    const wide = build((g, x, flag) =>
      choose(g, flag, x, (h, a) => {
        const spread = h.expand([h.reshape([a], { shape: [4, 1] })], { shape: [4, 8] });
        return h.reduce([h.tanh([spread])], { kind: "max", axes: [1] });
      }),
    );
    const half = finish(applyPrecision(wide, "f16"));
    expect(verify(opTable, half)).toEqual([]);
    expect(only(half, "if").outputs).toEqual([ROW]);
    expect(only(only(half, "if").regions[0]!, "tanh").outputs[0]!.dtype).toBe("f16");
    expect(compileNow(wide, { backend: "cpu", precision: "f16", verify: true }).blocked.size).toBe(0);
  });
});
