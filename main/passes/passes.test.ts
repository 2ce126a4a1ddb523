import { finish } from "../ir/steps.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph, Value } from "../ir/graph.ts";
import { printGraph } from "../ir/print.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import { evaluate } from "../ops/evaluate.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { tinyModel, tinyParam } from "../testing/tinyModels.ts";
import { randomCase } from "../testing/randomGraphs.ts";
import { commonSubexpressions } from "./commonSubexpressions.ts";
import { LARGEST_OPERANDS, LARGEST_RESULT, constantFolding } from "./constantFolding.ts";
import { deadCode } from "./deadCode.ts";
import { fuseAddRmsNorm } from "./fusions/addRmsNorm.ts";
import { fuseGatedLinear } from "./fusions/gatedLinear.ts";
import { fuseLinearAdd } from "./fusions/linearAdd.ts";
import { fuseQkvLinear } from "./fusions/qkvLinear.ts";
import { fuseRopeAppend } from "./fusions/ropeAppend.ts";
import { fuseSwiglu } from "./fusions/swiglu.ts";
import type { Pass } from "./pass.ts";
import { unchanged } from "./pass.ts";
import { PASSES, countOps, pipelineFor, runPipeline } from "./pipeline.ts";
import { simplify } from "./simplify.ts";

function build(make: (g: OpBuilder, b: GraphBuilder) => Value): Graph {
  const b = new GraphBuilder(opTable, "test");
  b.output("y", make(typedBuilder(b), b));
  return b.finish();
}

const opsOf = (graph: Graph): readonly string[] =>
  graph.nodes.filter((n) => !["input", "param", "constant", "state"].includes(n.op)).map((n) => n.op);

function fused(pass: Pass, graph: Graph): { readonly ops: readonly string[]; readonly why: readonly string[] } {
  const { graph: after, misses } = pass.run(graph);
  expect(verify(opTable, after)).toEqual([]);
  return { ops: opsOf(after), why: misses.map((miss) => miss.why) };
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
    expect(fused(simplify, graph).ops).toEqual(["exp"]);
    const narrowing = build((g, b) =>
      g.cast([g.cast([b.input("x", tensor("f32", [2]))], { to: "f16" })], { to: "f32" }),
    );
    expect(fused(simplify, narrowing).ops).toEqual(["cast", "cast"]);
  });
});

describe("fusions on a decoder", () => {
  it.each(["llama", "qwen2", "qwen3"] as const)(
    "%s: nothing is left unfused, and every pass keeps the numbers",
    (family) => {
      const layers = 2;
      const graph = tinyModel(family, layers);
      const { graph: after, records } = finish(runPipeline(graph, { passes: PASSES, verify: true }));
      expect(countOps(after)).toMatchObject({
        rope_append: layers,
        attention_cached: layers,
        qkv_linear: layers,
        gated_linear: layers,
        linear_add: 2 * layers,
        linear: 1,
        rms_norm: 2 * layers + 1,
      });
      for (const gone of ["add_rms_norm", "silu", "mul", "swiglu", "rope", "kv_append"])
        expect(countOps(after)[gone]).toBeUndefined();
      expect(records.flatMap((record) => record.misses)).toEqual([]);
      expect(records.every((record) => record.reason.length > 30)).toBe(true);
      const run = (g: Graph) =>
        finish(
          evaluate(g, {
            inputs: {
              tokens: hostTensor("i32", [3], [5, 17, 40]),
              past: hostScalar("i32", 2),
              logit_rows: hostTensor("i32", [2], [0, 2]),
            },
            param: tinyParam,
          }),
        );
      const [want, got] = [run(graph), run(after)];
      expect(Object.keys(got.states)).toEqual(Object.keys(want.states));
      for (const kind of ["outputs", "states"] as const)
        for (const [name, value] of Object.entries(want[kind]))
          value.data.forEach((x, i) => expect(got[kind][name]!.data[i]).toBeCloseTo(x, 10));
    },
  );

  it("keeps origins: each fused node knows its parts and nothing else", () => {
    const { graph } = finish(runPipeline(tinyModel("qwen3", 1), { passes: PASSES }));
    const labels = Object.fromEntries(
      graph.nodes.map((node) => [node.op, node.origins.map((origin) => `${origin.scope} ${origin.label}`)]),
    );
    const at = "blk.0/attention";
    expect(labels["rope_append"]).toEqual(
      ["q_norm", "q_rope", "k_norm", "k_rope", "k_cache", "v_cache"].map((label) => `${at} ${label}`),
    );
    expect(labels["attention_cached"]).toEqual([`${at} attention`]);
    expect(labels["qkv_linear"]).toEqual(["q", "k", "v"].map((label) => `${at} ${label}`));
    expect(labels["gated_linear"]).toEqual(["gate", "up", "activation", "gated"].map((label) => `blk.0/ffn ${label}`));
    expect(graph.nodes.find((node) => node.op === "gated_linear")?.passes).toEqual([
      "fuse swiglu",
      "fuse gated linear",
    ]);
  });

  it("leaves the graph to Core ML unfused", () => {
    const { graph } = finish(runPipeline(tinyModel("llama", 1), { passes: pipelineFor("coreml") }));
    expect(graph.nodes.some((node) => opTable.get(node.op)?.traits.includes("fused"))).toBe(false);
  });
});

/** The parts of an attention block with something changed. */
function attention(
  change: Partial<Record<"extra" | "angles" | "oneNorm" | "eps" | "past" | "noRope", boolean>>,
): Graph {
  const b = new GraphBuilder(opTable, "attention");
  const g = typedBuilder(b);
  const heads = (name: string) => b.input(name, tensor("f32", ["T", 2, 4]));
  const [q, k, v] = [heads("q"), heads("k"), heads("v")];
  const table = (name: string) => b.input(name, tensor("f32", ["T", 2]));
  const [cos, sin, sin2] = [table("cos"), table("sin"), table("sin2")];
  const past = b.input("past", tensor("i32", []));
  const other = b.input("other", tensor("i32", []));
  const gamma = b.param("gamma", tensor("f32", [4]), { file: "f", tensor: "gamma" });
  const state = (name: string) => b.state(name, tensor("f32", [2, 8, 4]));
  const style = { dims: 4, style: "neox" } as const;
  const qn = change.oneNorm || change.eps ? g.rms_norm([q, gamma], { eps: 1e-5 }) : q;
  const kn = change.eps ? g.rms_norm([k, gamma], { eps: 1e-6 }) : k;
  const qr = change.noRope ? qn : g.rope([qn, cos, sin], style);
  const kr = g.rope([kn, cos, change.angles ? sin2 : sin], style);
  const K = g.kv_append([state("K"), kr, change.past ? other : past]);
  const V = g.kv_append([state("V"), v, past]);
  b.setState("K", K);
  b.setState("V", V);
  b.output("y", g.attention_cached([qr, K, V, past], { scale: 0.5 }));
  if (change.extra) b.output("cache", g.neg([K]));
  return b.finish();
}

describe("near misses say why", () => {
  const x = (b: GraphBuilder, name = "x") => b.input(name, tensor("f32", ["T", 4]));
  const w = (b: GraphBuilder, name: string, rows = 4) =>
    b.param(name, tensor("f32", [rows, 4]), { file: "f", tensor: name });

  it("rope and append", () => {
    expect(fused(fuseRopeAppend, attention({})).ops).toEqual(["rope_append", "attention_cached"]);
    const why = (change: Parameters<typeof attention>[0]) => fused(fuseRopeAppend, attention(change)).why.join();
    expect(why({ extra: true })).toContain("read by something else");
    expect(why({ angles: true })).toContain("different angles");
    expect(why({ oneNorm: true })).toContain("only one of q and k");
    expect(why({ eps: true })).toContain("eps");
    expect(why({ past: true })).toContain("positions differ");
    expect(why({ noRope: true })).toContain("rope");
  });

  it("swiglu", () => {
    const gate = (twice: boolean, stretched: boolean) =>
      build((g, b) => {
        const silu = g.silu([x(b)]);
        const up = b.input("up", tensor("f32", stretched ? [4] : ["T", 4]));
        const y = g.mul([up, silu]);
        return twice ? g.add([y, silu]) : y;
      });
    expect(fused(fuseSwiglu, gate(false, false))).toEqual({ ops: ["swiglu"], why: [] });
    expect(fused(fuseSwiglu, gate(true, false)).why.join()).toContain("read elsewhere");
    expect(fused(fuseSwiglu, gate(false, true)).why.join()).toContain("stretched");
  });

  it("gated linear", () => {
    const block = (change: "none" | "operands" | "bias" | "twice" | "scaled") =>
      build((g, b) => {
        const [a, c] = [x(b), x(b, "other")];
        const bias = b.param("bias", tensor("f32", [4]), { file: "f", tensor: "bias" });
        const gate = change === "bias" ? g.linear([a, w(b, "gate"), bias]) : g.linear([a, w(b, "gate")]);
        const up = g.linear([change === "operands" ? c : a, w(b, "up")]);
        const y = g.swiglu([change === "scaled" ? g.neg([gate]) : gate, up]);
        return change === "twice" ? g.add([y, up]) : y;
      });
    expect(fused(fuseGatedLinear, block("none")).ops).toEqual(["gated_linear"]);
    expect(fused(fuseGatedLinear, block("operands")).why.join()).toContain("different operands");
    expect(fused(fuseGatedLinear, block("bias")).why.join()).toContain("bias");
    expect(fused(fuseGatedLinear, block("twice")).why.join()).toContain("read elsewhere");
    expect(fused(fuseGatedLinear, block("scaled")).why.join()).toContain("straight");
  });

  it("residual add", () => {
    const residual = (change: "none" | "stretched" | "twice") =>
      build((g, b) => {
        const product = g.linear([x(b), w(b, "w")]);
        const y = g.add([product, change === "stretched" ? b.input("r", tensor("f32", [4])) : x(b, "r")]);
        return change === "twice" ? g.mul([y, product]) : y;
      });
    expect(fused(fuseLinearAdd, residual("none")).ops).toEqual(["linear_add"]);
    expect(fused(fuseLinearAdd, residual("stretched")).why.join()).toContain("stretched");
    expect(fused(fuseLinearAdd, residual("twice")).why.join()).toContain("read elsewhere");
  });

  it("add and norm", () => {
    const block = (change: "none" | "beta" | "stretched" | "two" | "late") =>
      build((g, b) => {
        const vector = (name: string) => b.param(name, tensor("f32", [4]), { file: "f", tensor: name });
        const sum = g.add([x(b), change === "stretched" ? vector("r") : x(b, "r")]);
        const gamma = change === "late" ? g.exp([vector("gamma")]) : vector("gamma");
        const normed = g.rms_norm(change === "beta" ? [sum, gamma, vector("beta")] : [sum, gamma], { eps: 1e-5 });
        return change === "two"
          ? g.add([normed, g.rms_norm([sum, vector("g2")], { eps: 1e-5 })])
          : g.mul([normed, sum]);
      });
    expect(fused(fuseAddRmsNorm, block("none")).ops).toEqual(["add_rms_norm", "mul"]);
    expect(fused(fuseAddRmsNorm, block("beta")).why.join()).toContain("beta");
    expect(fused(fuseAddRmsNorm, block("stretched")).why.join()).toContain("stretched");
    expect(fused(fuseAddRmsNorm, block("two")).why.join()).toContain("another norm");
    expect(fused(fuseAddRmsNorm, block("late")).why.join()).toContain("computed after");
  });

  it("q, k, v", () => {
    const block = (change: "none" | "biases" | "oneBias" | "operands" | "late" | "source") => {
      const b = new GraphBuilder(opTable, "qkv");
      const g = typedBuilder(b);
      const [a, c] = [x(b), x(b, "other")];
      const heads = (v: Value) => g.reshape([v], { shape: ["T", 1, 4] });
      const product = (role: string) => {
        const bias = change === "biases" || (change === "oneBias" && role === "k");
        const raw = w(b, role);
        const weight = change === "late" && role === "v" ? g.exp([raw]) : raw;
        const operand = change === "operands" && role === "v" ? c : a;
        const vector = b.param(`${role}.bias`, tensor("f32", [4]), { file: "f", tensor: role });
        return heads(g.linear(bias ? [operand, weight, vector] : [operand, weight]));
      };
      const [q, k, v0] = [product("q"), product("k"), product("v")];
      const v = change === "source" ? g.neg([v0]) : v0;
      const past = b.input("past", tensor("i32", []));
      const table = b.input("table", tensor("f32", ["T", 2]));
      const caches = ["K", "V"].map((name) => b.state(name, tensor("f32", [1, 8, 4])));
      const [q2, K, V] = g.rope_append([q, k, v, table, table, caches[0]!, caches[1]!, past], {
        dims: 4,
        style: "neox",
        eps: 0,
      });
      b.setState("K", K!);
      b.setState("V", V!);
      b.output("y", q2!);
      return b.finish();
    };
    expect(fused(fuseQkvLinear, block("none")).ops.filter((op) => op.includes("linear"))).toEqual(["qkv_linear"]);
    expect(fused(fuseQkvLinear, block("biases")).ops.filter((op) => op.includes("linear"))).toEqual(["qkv_linear"]);
    expect(fused(fuseQkvLinear, block("oneBias")).why.join()).toContain("only some");
    expect(fused(fuseQkvLinear, block("operands")).why.join()).toContain("different operands");
    expect(fused(fuseQkvLinear, block("late")).why.join()).toContain("computed after");
    expect(fused(fuseQkvLinear, block("source")).why.join()).toContain("does not come from a product");
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

describe("random graphs", () => {
  it("every pass keeps what the graph computes, and its signature", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1 << 30 }), (seed) => {
        const { graph, inputs } = randomCase(seed);
        const want = finish(evaluate(graph, inputs));
        let current = graph;
        for (const pass of PASSES) {
          const { graph: after, moved, hits } = pass.run(current);
          expect(verify(opTable, after), pass.name).toEqual([]);
          expect(moved).toHaveLength(current.nodes.length);
          expect(hits === 0).toBe(after === current);
          expect(after.inputs.map((id) => after.nodes[id]!.attrs["name"])).toEqual(
            graph.inputs.map((id) => graph.nodes[id]!.attrs["name"]),
          );
          const got = finish(evaluate(after, inputs));
          for (const [name, value] of Object.entries(want.outputs))
            value.data.forEach((x, i) => {
              const y = got.outputs[name]!.data[i]!;
              if (!(Math.abs(x - y) <= 1e-5 * (1 + Math.abs(x))))
                expect.fail(`${pass.name} changed ${name}[${i}] from ${x} to ${y}\n${printGraph(current)}`);
            });
          expect(pass.run(after).hits, `${pass.name} finds no more the second time`).toBe(0);
          current = after;
        }
      }),
      { numRuns: 300 },
    );
  });
});
