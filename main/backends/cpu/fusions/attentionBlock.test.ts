// The attention block: what it takes in, every reason to leave it, and whole decoders through all fusions.
import { finish } from "../../../ir/steps.ts";
import { describe, expect, it } from "vitest";
import { pipelineFor } from "../../../compiler/pipelines.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import { fusionPass } from "../../../ir/fusion.ts";
import type { Graph, Value } from "../../../ir/graph.ts";
import { isLeaf } from "../../../ir/graph.ts";
import { hostScalar, hostTensor } from "../../../ir/hostTensor.ts";
import { tensor } from "../../../ir/type.ts";
import { verify } from "../../../ir/verify.ts";
import { evaluate } from "../../../ops/evaluate.ts";
import { opTable, typedBuilder } from "../../../ops/index.ts";
import { countOps, runPipeline } from "../../../passes/pipeline.ts";
import { tinyModel, tinyParam } from "../../../testing/tinyModels.ts";
import { attentionBlock } from "./attentionBlock.ts";

const CHANGES = [
  "q read",
  "old read",
  "new read before",
  "other angles",
  "one norm",
  "other eps",
  "other position",
  "no rope",
  "no state",
  "next is another",
  "passed on",
  "caches swapped",
  "wide values",
  "bf16 cache",
  "half q",
] as const;
type Change =
  (typeof CHANGES)[number] | "none" | "norms" | "sinks" | "norms and sinks" | "chunks" | "old shown" | "new read after";

function attention(change: Change): Graph {
  const b = new GraphBuilder(opTable, "attention");
  const g = typedBuilder(b);
  const is = (...changes: readonly Change[]): boolean => changes.includes(change);
  const dtype = is("half q") ? "f16" : "f32";
  const size = (wide: boolean): number => (wide ? 8 : 4);
  const heads = (name: string, wide = false) => b.input(name, tensor(dtype, ["T", 2, size(wide)]));
  const [q, k, v] = [heads("q"), heads("k"), heads("v", is("wide values"))];
  const table = (name: string) => b.input(name, tensor(dtype, ["T", 2]));
  const [cos, sin, sin2] = [table("cos"), table("sin"), table("sin2")];
  const [past, other] = ["past", "other"].map((name) => b.input(name, tensor("i32", [])));
  const gamma = b.param("gamma", tensor(dtype, [4]), { file: "f", tensor: "gamma" });
  const cache = (name: string, wide = false) => {
    const type = tensor(is("bf16 cache") ? "bf16" : "f32", [2, 8, size(wide)]);
    return is("no state") ? b.input(name, type) : b.state(name, type);
  };
  const [kCache, vCache] = [cache("K"), cache("V", is("wide values"))];
  const style = { dims: 4, style: "neox" } as const;
  const normed = (x: Value, eps: number): Value => g.rms_norm([x, gamma], { eps });
  const qn = is("norms", "norms and sinks", "one norm", "other eps") ? normed(q, 1e-5) : q;
  const kn = is("norms", "norms and sinks", "other eps") ? normed(k, is("other eps") ? 1e-6 : 1e-5) : k;
  const qr = is("no rope") ? qn : g.rope([qn, cos, sin], style);
  const kr = g.rope([kn, cos, is("other angles") ? sin2 : sin], style);
  const K = g.kv_append([kCache, kr, is("other position") ? other! : past!]);
  const V = g.kv_append([vCache, v, past!]);
  if (is("new read before")) b.output("seen", g.neg([K]));
  const [keys, values] = is("caches swapped") ? [V, K] : [K, V];
  const seen = is("chunks") ? { chunk: 3 } : { window: 3 };
  const sink = is("sinks", "norms and sinks")
    ? b.param("sinks", tensor(dtype, [2]), { file: "f", tensor: "sinks" })
    : undefined;
  const operands = [qr, keys, values, past!] as const;
  const y = g.attention_cached(sink === undefined ? operands : [...operands, sink], { scale: 0.5, ...seen });
  b.output("y", y);
  if (is("q read")) b.output("q", g.neg([qr]));
  if (is("old read")) b.output("old", g.neg([vCache]));
  if (is("old shown")) b.output("old", vCache);
  if (is("new read after")) b.output("seen", g.neg([K]));
  if (!is("no state")) {
    b.setState("K", is("next is another") ? kCache : K);
    b.setState("V", V);
  }
  if (is("passed on")) {
    b.state("before", tensor("f32", [2, 8, 4]));
    b.setState("before", kCache);
  }
  return b.finish();
}

function fused(change: Change) {
  const graph = attention(change);
  const { graph: after, misses } = fusionPass(opTable, attentionBlock).run(graph);
  expect(verify(opTable, after)).toEqual([]);
  const nodes = after.nodes.filter((node) => !isLeaf(node));
  return { ops: nodes.map(({ op }) => op), why: misses.map(({ why }) => why).join(), nodes };
}

describe("attention block", () => {
  it("takes in rope, the appends and attention, with every attribute", () => {
    const { ops, why, nodes } = fused("none");
    expect([ops, why]).toEqual([["attention_block"], ""]);
    expect(nodes[0]!.attrs).toEqual({ scale: 0.5, window: 3, dims: 4, style: "neox" });
    expect(nodes[0]!.origins).toHaveLength(5);
  });
  it("takes in the norms of heads", () => {
    const { ops, nodes } = fused("norms");
    expect(ops).toEqual(["attention_block"]);
    expect([nodes[0]!.attrs["eps"], nodes[0]!.inputs.length]).toEqual([1e-5, 10]);
  });
  it.each([
    ["sinks", 9, { window: 3 }],
    ["norms and sinks", 11, { window: 3, eps: 1e-5 }],
    ["chunks", 8, { chunk: 3 }],
  ] as const)("takes in %s", (change, operands, more) => {
    const { ops, nodes } = fused(change);
    expect(ops).toEqual(["attention_block"]);
    expect(nodes[0]!.inputs).toHaveLength(operands);
    expect(nodes[0]!.attrs).toEqual({ scale: 0.5, dims: 4, style: "neox", ...more });
  });
  it.each(["old shown", "new read after"] as const)("is made also with %s", (change) =>
    expect(fused(change).ops).toContain("attention_block"),
  );

  const reasons: Readonly<Record<(typeof CHANGES)[number], string>> = {
    "q read": "q or k is read elsewhere",
    "old read": "the old value of a cache is read",
    "new read before": "before the attention",
    "other angles": "different angles",
    "one norm": "only one of q and k",
    "other eps": "differ in eps",
    "other position": "positions differ",
    "no rope": "not both turned by rope",
    "no state": "not the state that it becomes",
    "next is another": "not the state that it becomes",
    "passed on": "the old value of a cache is read",
    "caches swapped": "not both turned by rope",
    "wide values": "another size than keys",
    "bf16 cache": "not f32 or f16",
    "half q": "not f32",
  };
  it.each(CHANGES)("is not made with %s", (change) => {
    const { ops, why } = fused(change);
    expect(ops).not.toContain("attention_block");
    expect(why).toContain(reasons[change]);
  });
});

describe("fusions on a decoder", () => {
  it.each(["llama", "qwen2", "qwen3"] as const)(
    "%s: nothing is left unfused, and every pass keeps the numbers",
    (family) => {
      const layers = 2;
      const graph = tinyModel(family, layers);
      const { graph: after, records } = finish(runPipeline(graph, { passes: pipelineFor("cpu"), verify: true }));
      const counts = countOps(after);
      expect(counts).toMatchObject({ attention_block: layers, linear_block: 4 * layers + 1 });
      for (const gone of ["linear", "rms_norm", "silu", "mul", "rope", "kv_append", "attention_cached"])
        expect(counts[gone]).toBeUndefined();
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
    const { graph } = finish(runPipeline(tinyModel("qwen3", 1), { passes: pipelineFor("cpu") }));
    const blocks = graph.nodes.filter((node) => opTable.get(node.op)?.traits.includes("fused"));
    const labels = blocks.map(({ origins }) => origins.map(({ label }) => label));
    expect(labels).toEqual([
      ["norm", "q", "k", "v"],
      ["q_norm", "k_norm", "q_rope", "k_rope", "k_cache", "v_cache", "attention"],
      ["output", "residual"],
      ["norm", "gate", "up", "activation", "gated"],
      ["down", "residual"],
      ["norm", "logits"],
    ]);
    expect(blocks[3]!.passes).toEqual(["fuse gated linear", "fuse norm"]);
  });

  it("leaves the graph to the other backends unfused", () => {
    for (const backend of ["coreml", "mlx"] as const) {
      const { graph } = finish(runPipeline(tinyModel("llama", 1), { passes: pipelineFor(backend) }));
      expect(graph.nodes.some((node) => opTable.get(node.op)?.traits.includes("fused"))).toBe(false);
    }
  });
});
