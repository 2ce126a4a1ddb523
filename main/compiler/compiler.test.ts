import { finish } from "../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../ir/builder.ts";
import type { Graph } from "../ir/graph.ts";
import { graphHash } from "../ir/hash.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { specialize } from "../ir/specialize.ts";
import { tensor } from "../ir/type.ts";
import { verify } from "../ir/verify.ts";
import { demoGraph } from "../models/demo.ts";
import type { Backend } from "../ops/defineOp.ts";
import { STABLE_BACKENDS } from "../ops/defineOp.ts";
import { evaluate } from "../ops/evaluate.ts";
import type { OpName } from "../ops/index.ts";
import { OPS, opOf, opTable, typedBuilder } from "../ops/index.ts";
import { sampleGraph, sampleRun, sampleTensors } from "../ops/sampleData.ts";
import { tinyModel, tinyParam } from "../testing/tinyModels.ts";
import { compileNow } from "./compile.ts";
import { dispatchReport, formatReport, legalise } from "./legalise.ts";
import { applyPrecision } from "./precision.ts";
import type { DispatchPolicy } from "./support.ts";
import { supportOf } from "./support.ts";

const step = (graph: Graph) =>
  finish(
    evaluate(graph, {
      inputs: {
        tokens: hostTensor("i32", [3], [5, 17, 40]),
        past: hostScalar("i32", 2),
        logit_rows: hostTensor("i32", [2], [0, 2]),
      },
      param: tinyParam,
    }),
  );

function farthest(want: Readonly<Record<string, HostTensor>>, got: Readonly<Record<string, HostTensor>>): number {
  // NaN and infinities are no distance from themselves.
  const distance = (x: number, y: number): number => (Object.is(x, y) ? 0 : Math.abs(x - y));
  return Object.entries(want).reduce(
    (most, [name, value]) =>
      value.data.reduce((worst, x, i) => Math.max(worst, distance(x, got[name]!.data[i]!)), most),
    0,
  );
}

describe("legalise", () => {
  it("gives Core ML a graph of native ops with the same numbers, and says what became of each node", () => {
    const graph = tinyModel("qwen3", 2);
    const { graph: legal, report, blocked } = finish(legalise(graph, "coreml"));
    expect(verify(opTable, legal)).toEqual([]);
    expect(blocked.size).toBe(0);
    expect(legal.nodes.some((node) => node.op === "rope")).toBe(false);
    const rope = report.entries.find((entry) => entry.op === "rope")!;
    expect(rope.state).toBe("decomposed");
    expect(rope.parts).toContain("concat");
    expect(report.counts.unsupported).toBe(0);
    const ops = legal.nodes.filter((node) => opOf(node.op)).map((node) => node.op);
    expect(report.entries.flatMap((entry) => entry.parts).sort()).toEqual(ops.sort());
    const [want, got] = [step(graph), step(legal)];
    expect(farthest(want.outputs, got.outputs)).toBeLessThan(1e-9);
    expect(farthest(want.states, got.states)).toBeLessThan(1e-9);
  });

  it("refuses the CPU's own ops for other backends, and takes them apart where common rules are forced", () => {
    const fused = compileNow(tinyModel("llama", 1), { backend: "cpu" }).graph;
    const own = fused.nodes.filter((node) => opTable.get(node.op)?.traits.includes("fused"));
    expect(own.length).toBeGreaterThan(4);
    expect([...finish(legalise(fused, "coreml")).blocked.keys()].length).toBe(own.length);
    const { graph: legal, blocked } = finish(legalise(fused, "cpu", undefined, "force-common"));
    expect(blocked.size).toBe(0);
    expect(legal.nodes.some((node) => opTable.get(node.op)?.traits.includes("fused"))).toBe(false);
    expect(farthest(step(fused).outputs, step(legal).outputs)).toBeLessThan(1e-9);
  });

  it("reports what cannot run, with the reason, and compiles it only when asked to", () => {
    const { report, blocked, graph } = finish(legalise(demoGraph(), "coreml"));
    expect(report.entries.filter((e) => e.state === "unsupported").map((e) => e.op)).toEqual(["fft", "custom", "lstm"]);
    expect([...blocked.keys()].map((id) => graph.nodes[id]!.op)).toEqual(["fft", "custom", "lstm"]);
    for (const reason of blocked.values()) expect(reason).toContain("host segment");
    expect(() => compileNow(demoGraph(), { backend: "coreml" })).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_OP", message: expect.stringContaining("fft (and 2 more)") }),
    );
    expect(compileNow(demoGraph(), { backend: "coreml", blocked: "keep" }).blocked.size).toBe(3);
    expect(formatReport(report)).toMatchInlineSnapshot(`
      "dispatch for coreml: 18 native, 0 decomposed, 3 unsupported, 0 undeclared
             1 native      add: coreml runs add itself
             1 native      gelu: coreml runs gelu itself
             7 native      linear: coreml runs linear itself
             1 native      mul: coreml runs mul itself
             3 native      reshape: coreml runs reshape itself
             1 native      rms_norm: coreml runs rms_norm itself
             1 native      sigmoid: coreml runs sigmoid itself
             1 native      silu: coreml runs silu itself
             1 native      softmax: coreml runs softmax itself
             1 native      tanh: coreml runs tanh itself
             1 unsupported custom: a function of the host program: it runs as a host segment between Core ML models
             1 unsupported fft: Core ML has no Fourier transform: it runs as a host segment between Core ML models
             1 unsupported lstm: Core ML's lstm wants its weights at compile time, one layer at a time, and no compute unit but the CPU runs it, nor a loop over more than 8 steps, got 96: it is a host segment between Core ML models"
    `);
  });

  it("uses the parts where a native rule refuses the node", () => {
    const b = new GraphBuilder(opTable, "half attention");
    const q = b.input("q", tensor("f16", [1, 2, 3, 4]));
    b.output("y", typedBuilder(b).attention([q, q, q], { scale: 0.5, mask: "causal" }));
    const graph = b.finish();
    const node = graph.nodes.at(-1)!;
    const support = supportOf(graph, node, "cpu");
    expect(support).toMatchObject({
      state: "decomposed",
      reason: expect.stringContaining("takes f32; operand 0 is f16"),
    });
    expect(finish(dispatchReport(graph, "cpu")).entries[0]!.parts).toContain("softmax");
  });

  it("names the part that cannot run, and why", () => {
    const b = new GraphBuilder(opTable, "wide norm");
    const [x, gamma] = [b.input("x", tensor("f64", [2, 3, 1, 1])), b.input("gamma", tensor("f64", [3]))];
    typedBuilder(b).layer_norm2d([x, gamma, gamma], { eps: 1e-5 });
    const [entry] = finish(dispatchReport(b.finish(), "mlx")).entries;
    expect(entry).toMatchObject({
      state: "unsupported",
      reason: "its part layer_norm: MLX's layer_norm computes in float32, this operand is f64",
      parts: [],
    });
  });

  it("follows the policy: native rules where there are any, none, or only those", () => {
    const b = new GraphBuilder(opTable, "turn");
    const [x, angles] = [b.input("x", tensor("f32", [1, 1, 2])), b.input("angles", tensor("f32", [1, 1]))];
    b.output("y", typedBuilder(b).rope([x, angles, angles], { dims: 2, style: "neox" }));
    const graph = b.finish();
    const compiled = (backend: Backend, dispatch: DispatchPolicy) =>
      compileNow(graph, { backend, dispatch, blocked: "keep" });
    // MLX has the op, Core ML has its parts.
    const parts = compileNow(graph, { backend: "coreml" }).graph.nodes.map(({ op }) => op);
    expect(parts).toContain("concat");
    const whole = ["input", "input", "rope"];
    for (const [backend, dispatch, state, ops] of [
      ["mlx", "prefer-native", "native", whole],
      ["mlx", "force-common", "decomposed", parts],
      ["mlx", "force-native", "native", whole],
      ["coreml", "prefer-native", "decomposed", parts],
      ["coreml", "force-native", "unsupported", whole],
    ] as const) {
      const { graph: legal, report } = compiled(backend, dispatch);
      expect(legal.nodes.map(({ op }) => op)).toEqual(ops);
      expect(report.entries.map((entry) => entry.state)).toEqual([state]);
    }
    const reason = "native rules are forced, and coreml runs rope as its parts";
    expect([...compiled("coreml", "force-native").blocked.values()]).toEqual([reason]);
    expect(() => compileNow(graph, { backend: "coreml", dispatch: "force-native" })).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_OP", message: `[coreml] cannot run rope: ${reason}` }),
    );
  });

  it("answers for experimental backends too", () => {
    const { counts } = finish(dispatchReport(tinyModel("llama", 1), "webgpu"));
    expect(counts.native).toBe(0);
    expect(counts.undeclared).toBeGreaterThan(10);
  });

  const samples = Object.keys(OPS).flatMap((name) =>
    opOf(name)!.samples.flatMap((sample) =>
      STABLE_BACKENDS.map((backend) => [`${name}: ${sample.title} on ${backend}`, name, sample, backend] as const),
    ),
  );
  it.each(samples)("%s: native, decomposed or refused with a reason; the numbers stay", (_, name, sample, backend) => {
    const graph = finish(specialize(opTable, sampleGraph(opOf(name)!, sample), sample.bindings ?? {}));
    const { graph: legal, blocked, report } = finish(legalise(graph, backend));
    expect(report.entries.every((entry) => entry.reason.length > 10)).toBe(true);
    const refused = report.entries.filter((entry) => entry.state === "unsupported");
    expect(refused.length > 0).toBe(blocked.size > 0);
    // What the report says of a whole ends with what is said of the part that stays behind.
    for (const { reason } of refused)
      expect([...blocked.values()].filter((why) => reason.endsWith(why))).not.toEqual([]);
    const run = sampleRun(sample, sampleTensors(sample));
    expect(farthest(finish(evaluate(graph, run)).outputs, finish(evaluate(legal, run)).outputs)).toBeLessThan(1e-9);
  });
});

describe("compile", () => {
  it("is deterministic, verified at every step, and keeps the records", () => {
    const options = { backend: "cpu", verify: true } as const;
    const [a, b] = [compileNow(tinyModel("qwen2"), options), compileNow(tinyModel("qwen2"), options)];
    expect(graphHash(b.graph)).toBe(graphHash(a.graph));
    expect(a.records.map((record) => record.name)).toContain("fuse attention");
    expect(a.report.counts).toMatchObject({ decomposed: 0, unsupported: 0, undeclared: 0 });
    expect(farthest(step(tinyModel("qwen2")).outputs, step(a.graph).outputs)).toBeLessThan(1e-9);
  });

  it("specialises for Core ML", () => {
    const { graph, blocked } = compileNow(tinyModel("llama", 1), {
      backend: "coreml",
      bindings: { T: 1, R: 1 },
      verify: true,
    });
    expect(blocked.size).toBe(0);
    expect(graph.nodes.flatMap((n) => n.outputs.flatMap((t) => t.shape)).filter((d) => typeof d === "string")).toEqual(
      [],
    );
  });

  it("stops when it is cancelled", () => {
    const signal = AbortSignal.abort();
    expect(() => compileNow(tinyModel("llama", 1), { backend: "cpu", signal })).toThrow(
      expect.objectContaining({ code: "CANCELLED" }),
    );
  });
});

describe("precision", () => {
  it("keeps the signature and stays near", () => {
    const graph = tinyModel("qwen3", 1);
    const exact = step(graph).outputs;
    for (const [policy, limit] of [
      ["mixed", 0.02],
      ["f16", 0.05],
    ] as const) {
      const typed = finish(applyPrecision(graph, policy));
      expect(verify(opTable, typed)).toEqual([]);
      const signature = (g: Graph) => [
        ...g.inputs.map((id) => g.nodes[id]!.outputs[0]),
        ...g.outputs.map((o) => g.nodes[o.value.node]!.outputs[o.value.output]),
        ...g.states.map((s) => g.nodes[s.input]!.outputs[0]),
      ];
      expect(signature(typed)).toEqual(signature(graph));
      const half = typed.nodes.filter((node) => node.op === "linear" && node.outputs[0]!.dtype === "f16");
      expect(half.length).toBeGreaterThan(5);
      expect(typed.nodes.find((node) => node.op === "rope_table")!.outputs[0]!.dtype).toBe("f32");
      const norms = typed.nodes.filter((node) => node.op === "rms_norm").map((node) => node.outputs[0]!.dtype);
      expect(new Set(norms)).toEqual(new Set([policy === "mixed" ? "f32" : "f16"]));
      const far = farthest(exact, step(typed).outputs);
      expect(far).toBeLessThan(limit);
      expect(far).toBeGreaterThan(0);
    }
    expect(finish(applyPrecision(graph, "f32"))).toBe(graph);
  });

  it("keeps sums and every norm wide when it is mixed, and products and the rest in half", () => {
    const dtypesOf = (...names: readonly OpName[]): ReadonlySet<string> =>
      new Set(
        names.map((name) => {
          const op = opOf(name)!;
          const sample = op.samples.find(({ inputs: [first] }) => first?.type.dtype === "f32")!;
          const typed = finish(applyPrecision(sampleGraph(op, sample), "mixed"));
          return typed.nodes.find((node) => node.op === name)!.outputs[0]!.dtype;
        }),
      );
    const norms = dtypesOf(
      "rms_norm",
      "layer_norm",
      "layer_norm2d",
      "group_norm",
      "batch_norm_inference",
      "linear_block",
      "attention_block",
    );
    expect(norms).toEqual(new Set(["f32"]));
    expect(dtypesOf("reduce", "pool", "cumsum", "scatter_add", "softmax", "exp")).toEqual(new Set(["f32"]));
    expect(dtypesOf("matmul", "linear", "add", "silu", "conv", "concat")).toEqual(new Set(["f16"]));
  });
});
