// The rules of the predicted plan: every one fires where it should and nowhere else.
import { describe, expect, it } from "vitest";
import { finish } from "../../../ir/steps.ts";
import { legalise } from "../../../compiler/legalise.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import type { Graph, Value } from "../../../ir/graph.ts";
import { tensor as typeOf } from "../../../ir/type.ts";
import { demoGraph } from "../../../models/demo.ts";
import { opOf, opTable, typedBuilder } from "../../../ops/index.ts";
import { half, ints, linear, packed, PLAN_TARGET as TARGET, weight } from "../../../testing/milPrograms.ts";
import type { EntryOf } from "../hybrid/loweredGraph.ts";
import { routeGraph } from "../hybrid/route.ts";
import { MilFunctionBuilder } from "../mil/builder.ts";
import { NameTable } from "../mil/names.ts";
import type { MilFunction, MilOperation, MilValue } from "../mil/types.ts";
import { tensorType } from "../mil/types.ts";
import { functionFacts } from "./facts.ts";
import { predictPlan } from "./predict.ts";
import type { Finding, RuleId } from "./rules.ts";
import { RULE_IDS, RULES, findingsFor } from "./rules.ts";
import type { PlanTarget } from "./target.ts";

type Build = (b: MilFunctionBuilder) => void;
interface RuleCase {
  readonly rule: RuleId;
  readonly fires: Build | readonly MilOperation[];
  readonly quiet: Build | readonly MilOperation[];
  readonly target?: Partial<PlanTarget>;
  readonly quietTarget?: Partial<PlanTarget>;
  /** What the sentence says, for rules with several. */
  readonly says?: string;
}

const float = (b: MilFunctionBuilder, shape: readonly number[]): MilValue => b.input("x", tensorType("fp32", shape));
const raw = (type: string, shape: readonly number[] = [1, 32]): readonly MilOperation[] => [
  {
    type,
    name: type,
    inputs: [["x", [{ kind: "name", name: "x" }]]],
    outputs: [{ name: "y", type: tensorType("fp16", shape) }],
    origins: [],
  },
];
const pool = (b: MilFunctionBuilder, stride: number, op: "avg_pool" | "max_pool" = "max_pool"): MilValue =>
  b.op(op, { x: half(b, [1, 2, 64]), kernel_sizes: [2], strides: [stride], pad_type: "valid" });
const conv = (b: MilFunctionBuilder, kernel: number, stride: number): MilValue =>
  b.op("conv", {
    x: half(b, [1, 2, 64]),
    weight: b.data({ type: tensorType("fp16", [2, 2, kernel]), data: { kind: "blob", offset: 64 } }, "w"),
    strides: [stride],
    pad_type: "valid",
  });
/** A convolution of `out` channels with a window of any rank; what it reads has at least 8 of each size. */
const window = (b: MilFunctionBuilder, out: number, kernel: readonly number[], dilation = 1): MilValue =>
  b.op("conv", {
    x: half(b, [1, 2, ...kernel.map((size) => Math.max(8, size * dilation))]),
    weight: b.data({ type: tensorType("fp16", [out, 2, ...kernel]), data: { kind: "blob", offset: 64 } }, "w"),
    strides: kernel.map(() => 1),
    dilations: kernel.map(() => dilation),
    pad_type: "valid",
  });
const multiplied = (b: MilFunctionBuilder, rows: number, inner: number, columns: number): MilValue =>
  b.op("matmul", { x: half(b, [rows, inner]), y: half(b, [inner, columns], "y") });

const CASES: readonly RuleCase[] = [
  {
    rule: "ane-state",
    fires: (b) => b.op("read_state", { input: b.input("s", { kind: "state", dtype: "fp16", shape: [1, 32] }) }),
    quiet: (b) => b.op("exp", { x: half(b, [1, 32]) }),
  },
  {
    rule: "ane-fp32",
    fires: (b) => b.op("exp", { x: float(b, [1, 32]) }),
    quiet: (b) => b.op("cast", { x: float(b, [1, 32]), dtype: "fp16" }),
  },
  {
    rule: "ane-integer",
    fires: (b) => b.op("add", { x: ints(b, [4]), y: 1 }),
    quiet: (b) => b.op("gather", { x: weight(b, 8, 32), indices: ints(b, [4]), axis: 0 }),
  },
  {
    rule: "ane-integer-data",
    fires: (b) => b.op("reshape", { x: ints(b, [4]), shape: [2, 2] }),
    quiet: (b) => b.op("reshape", { x: half(b, [4]), shape: [2, 2] }),
  },
  {
    rule: "ane-rank",
    fires: (b) => b.op("exp", { x: half(b, [1, 1, 1, 1, 1, 32]) }),
    quiet: (b) => b.op("exp", { x: half(b, [1, 1, 1, 1, 32]) }),
  },
  {
    rule: "ane-dynamic",
    fires: (b) => b.op("exp", { x: half(b, [null, 32]) }),
    quiet: (b) => b.op("exp", { x: half(b, [1, 32]) }),
  },
  {
    rule: "ane-size",
    fires: (b) => b.op("exp", { x: half(b, [1, 20000]) }),
    quiet: (b) => b.op("exp", { x: half(b, [1, 16384]) }),
  },
  {
    rule: "ane-size",
    fires: (b) => b.op("exp", { x: half(b, [1, 70000]) }),
    quiet: (b) => b.op("exp", { x: half(b, [1, 20000]) }),
    target: { chip: "m4" },
    quietTarget: { chip: "m4" },
  },
  {
    rule: "ane-size",
    fires: (b) => window(b, 65537, [1, 1]),
    quiet: (b) => window(b, 65536, [1, 1]),
    says: "65537 channels exceed the 65536",
  },
  {
    // As channels the second axis is too long, as anything else it is not.
    rule: "ane-size",
    fires: (b) => window(b, 70000, [1, 1]),
    quiet: (b) => b.op("exp", { x: half(b, [1, 70000, 8, 8]) }),
    says: "70000 channels exceed the 65536",
  },
  {
    rule: "ane-size",
    fires: (b) => linear(b, half(b, [1, 64]), weight(b, 70000, 64)),
    quiet: (b) => linear(b, half(b, [1, 64]), weight(b, 65536, 64)),
    target: { chip: "m4" },
    quietTarget: { chip: "m4" },
    says: "A dimension of 70000 exceeds the 65536",
  },
  { rule: "ane-conv", fires: (b) => conv(b, 17, 1), quiet: (b) => conv(b, 16, 2), says: "1×17 kernel exceeds 29×16" },
  {
    rule: "ane-conv",
    fires: (b) => window(b, 2, [1, 3, 3]),
    quiet: (b) => window(b, 2, [3, 3]),
    says: "Three-dimensional convolution",
  },
  {
    rule: "ane-conv",
    fires: (b) => window(b, 2, [30, 1]),
    quiet: (b) => window(b, 2, [29, 1]),
    says: "30×1 kernel exceeds 29×16",
  },
  {
    rule: "ane-conv",
    fires: (b) => window(b, 2, [3, 3], 5),
    quiet: (b) => window(b, 2, [3, 3], 6),
    says: "this one is 5",
  },
  {
    rule: "ane-conv",
    fires: (b) => conv(b, 14, 1),
    quiet: (b) => conv(b, 13, 1),
    target: { chip: "m1" },
    quietTarget: { chip: "m1" },
  },
  { rule: "ane-conv", fires: (b) => conv(b, 3, 5), quiet: (b) => conv(b, 3, 6) },
  {
    rule: "ane-no-kernel",
    fires: (b) => b.op("tan", { x: half(b, [1, 32]) }),
    quiet: (b) => b.op("tanh", { x: half(b, [1, 32]) }),
  },
  {
    rule: "ane-gather",
    fires: (b) => b.op("gather", { x: weight(b, 8, 32), indices: ints(b, [4]), axis: 0 }),
    quiet: (b) => b.op("slice_by_size", { x: half(b, [8, 32]), begin: [0, 0], size: [1, 32] }),
  },
  {
    rule: "ane-pad",
    fires: (b) => b.op("pad", { x: half(b, [1, 32]), pad: [1, 1] }),
    quiet: (b) => b.op("concat", { values: [half(b, [1, 32])], axis: 0 }),
  },
  {
    rule: "ane-sin-cos",
    fires: (b) => b.op("sin", { x: half(b, [1, 32]) }),
    quiet: (b) => b.op("sin", { x: half(b, [1, 32]) }),
    quietTarget: { chip: "m3" },
  },
  {
    rule: "ane-order",
    fires: (b) => b.ops("topk", { x: half(b, [1, 32]), k: 2 }),
    quiet: (b) => b.ops("topk", { x: half(b, [1, 32]), k: 2 }),
    target: { chip: "m1" },
  },
  {
    rule: "ane-reflect",
    fires: (b) => b.op("pad", { x: half(b, [1, 32]), pad: [1, 1], mode: "reflect" }),
    quiet: (b) => b.op("pad", { x: half(b, [1, 32]), pad: [1, 1] }),
    target: { chip: "m1" },
    quietTarget: { chip: "m1" },
  },
  { rule: "ane-control-flow", fires: raw("while_loop"), quiet: raw("exp") },
  {
    rule: "ane-dynamic-slice",
    fires: (b) => b.op("slice_by_size", { x: half(b, [8, 32]), begin: ints(b, [2]), size: [1, 32] }),
    quiet: (b) => b.op("slice_by_size", { x: half(b, [8, 32]), begin: [1, 0], size: [1, 32] }),
  },
  {
    rule: "ane-argmax",
    fires: (b) => b.op("reduce_argmax", { x: half(b, [1, 32]), axis: 1 }),
    quiet: (b) => b.op("reduce_max", { x: half(b, [1, 32]), axes: [1] }),
  },
  {
    rule: "ane-cast-int",
    fires: (b) => b.op("cast", { x: ints(b, [4]), dtype: "fp16" }),
    quiet: (b) => b.op("cast", { x: half(b, [4]), dtype: "fp32" }),
  },
  {
    rule: "ane-block-weights",
    fires: (b) => linear(b, half(b, [1, 64]), packed(b, 32, 64, 2)),
    quiet: (b) => linear(b, half(b, [1, 64]), packed(b, 32, 64, 1)),
  },
  { rule: "ane-quantize", fires: raw("quantize"), quiet: raw("exp") },
  {
    rule: "ane-last-axis",
    fires: (b) => b.op("exp", { x: half(b, [64, 1]) }),
    quiet: (b) => b.op("exp", { x: half(b, [1, 64]) }),
  },
  { rule: "ane-pool-stride", fires: (b) => pool(b, 3), quiet: (b) => pool(b, 2) },
  { rule: "ane-pool-stride", fires: (b) => pool(b, 1, "avg_pool"), quiet: (b) => conv(b, 1, 3) },
  { rule: "ane-linear", fires: (b) => linear(b, half(b, [1, 64]), weight(b, 32, 64)), quiet: (b) => conv(b, 1, 1) },
  {
    rule: "ane-matmul",
    fires: (b) => b.op("matmul", { x: half(b, [1, 4096]), y: half(b, [4096, 32], "y") }),
    quiet: (b) => b.op("matmul", { x: half(b, [1, 64]), y: half(b, [64, 32], "y") }),
  },
  // Two factors of 512 · 768 halves and a product of 512 · 512 are 2 MB.
  {
    rule: "ane-matmul",
    fires: (b) => multiplied(b, 512, 769, 512),
    quiet: (b) => multiplied(b, 512, 768, 512),
    says: "Operands beyond 2 MB",
  },
  {
    rule: "ane-matmul",
    fires: (b) => multiplied(b, 1, 2049, 32),
    quiet: (b) => multiplied(b, 1, 2048, 32),
    says: "Sums over 2049 products",
  },
  {
    rule: "ane-attention",
    fires: (b) =>
      b.op("scaled_dot_product_attention", {
        query: half(b, [1, 2, 32], "q"),
        key: half(b, [1, 2, 32], "k"),
        value: half(b, [1, 2, 32], "v"),
      }),
    quiet: (b) => b.op("softmax", { x: half(b, [1, 32]), axis: 1 }),
  },
  { rule: "ane-select", fires: raw("fill_like"), quiet: raw("exp") },
  {
    rule: "ane-tile",
    fires: (b) => b.op("tile", { x: half(b, [1, 32]), reps: [5, 1] }),
    quiet: (b) => b.op("tile", { x: half(b, [1, 32]), reps: [4, 1] }),
  },
  {
    rule: "ane-relayout",
    fires: (b) => b.op("transpose", { x: half(b, [4, 32]), perm: [1, 0] }),
    quiet: (b) => b.op("transpose", { x: half(b, [2, 4, 32]), perm: [1, 0, 2] }),
  },
  {
    rule: "ane-softmax-axis",
    fires: (b) => b.op("softmax", { x: half(b, [1, 4, 32]), axis: -1 }),
    quiet: (b) => b.op("softmax", { x: half(b, [1, 32]), axis: 1 }),
  },
  {
    rule: "ane-square",
    fires: (b) => b.op("square", { x: half(b, [1, 32]) }),
    quiet: (b) => b.op("mul", { x: half(b, [1, 32]), y: 2 }),
  },
  ...(["reduce_sum_square", "reduce_l2_norm"] as const).map((op): RuleCase => ({
    rule: "ane-square",
    fires: (b) => b.op(op, { x: half(b, [1, 32]), axes: [1] }),
    quiet: (b) => b.op(op, { x: float(b, [1, 32]), axes: [1] }),
  })),
  {
    rule: "ane-program-size",
    fires: (b) => linear(b, half(b, [1, 50000]), weight(b, 50000, 50000)),
    quiet: (b) => linear(b, half(b, [1, 64]), weight(b, 32, 64)),
  },
];

function build(what: RuleCase["fires"]): MilFunction {
  const builder = new MilFunctionBuilder("main", "CoreML8", new NameTable());
  if (typeof what === "function") {
    what(builder);
    return builder.finish();
  }
  const x = { name: "x", type: tensorType("fp16", [1, 32]) };
  return { name: "main", opset: "CoreML8", inputs: [x], operations: what, outputs: [] };
}

function findingsOf(f: MilFunction, target: PlanTarget): readonly Finding[] {
  const facts = finish(functionFacts(f));
  return facts.kinds.flatMap((op) => findingsFor(op, target, facts));
}

/** The rules that decided in the plan of a function, and in the route of a graph. */
const decided = (what: RuleCase["fires"], units: PlanTarget["units"]): readonly string[] =>
  predictPlan(build(what), { ...TARGET, units }).ops.map((op) => op.rule);
const decidedIn = (graph: Graph, units: PlanTarget["units"] = "all"): readonly string[] => {
  const entries: EntryOf = (op) => opOf(op)?.backends.coreml;
  const { nodes, verdicts } = routeGraph(graph, { table: opTable, entries, target: { ...TARGET, units } });
  return [...nodes.verdict].map((at) => verdicts[at]?.rule ?? "");
};
const graphOf = (work: (g: ReturnType<typeof typedBuilder>, x: Value) => Value): Graph => {
  const builder = new GraphBuilder(opTable, "g");
  builder.output("y", work(typedBuilder(builder), builder.input("x", typeOf("f32", [4]))));
  return builder.finish();
};

const tiny: Build = (b) => linear(b, half(b, [1, 64]), weight(b, 64, 64));
/** Enough work for the way to another unit to be worth it. */
const large = (end: (b: MilFunctionBuilder, x: MilValue) => MilValue): Build => {
  return (b) => {
    let x = half(b, [512, 2048]);
    for (let i = 0; i < 4; i++) x = linear(b, x, weight(b, 2048, 2048, 64 * (i + 1)));
    end(b, x);
  };
};
const product = large((_b, x) => x);
const folded = large((b, x) => b.op("reshape", { x, shape: [2048, 512] }));
const twice = graphOf((g, x) => g.add([g.exp([x]), g.exp([x])]));
const once = graphOf((g, x) => g.add([g.exp([x]), g.sin([x])]));
const spectrum = finish(legalise(demoGraph(), "coreml")).graph;

type Made = () => readonly string[];
/** What decides where no rule keeps an operator off the Neural Engine, or where there is none to keep. */
const DECISIONS: Readonly<
  Partial<Record<RuleId, { readonly fires: readonly Made[]; readonly quiet: readonly Made[] }>>
> = {
  "ane-eligible": {
    fires: [() => decided(product, "cpu-ane"), () => decided(folded, "cpu-ane").slice(-1)],
    quiet: [() => decided(product, "cpu-gpu"), () => decided(tiny, "cpu-ane")],
  },
  units: {
    fires: [() => decided(product, "cpu"), () => decided(folded, "cpu").slice(-1)],
    quiet: [() => decided(product, "all"), () => decided(product, "cpu-gpu"), () => decided(tiny, "cpu-ane")],
  },
  free: {
    fires: [() => decided(folded, "cpu-gpu").slice(-1)],
    quiet: [
      () => decided(folded, "cpu-gpu").slice(0, -1),
      () => decided(folded, "cpu-ane"),
      () => decided(folded, "cpu"),
    ],
  },
  island: {
    fires: [() => decided(tiny, "cpu-ane"), () => decided(tiny, "all")],
    quiet: [() => decided(product, "cpu-ane"), () => decided(product, "cpu-gpu"), () => decided(tiny, "cpu")],
  },
  "gpu-faster": {
    fires: [() => decided(product, "cpu-gpu")],
    quiet: [() => decided(tiny, "all"), () => decided(product, "cpu-ane"), () => decided(product, "cpu")],
  },
  host: {
    fires: [() => decidedIn(spectrum)],
    quiet: [() => decidedIn(once), () => decidedIn(twice)],
  },
  "no-operation": {
    fires: [() => decidedIn(twice)],
    quiet: [() => decidedIn(once)],
  },
};

describe("rules", () => {
  for (const [i, c] of CASES.entries())
    it(`${c.rule} #${i}`, () => {
      const found = findingsOf(build(c.fires), { ...TARGET, ...c.target }).filter(({ rule }) => rule === c.rule);
      expect(found).toHaveLength(1);
      expect(found[0]?.reason).toContain(c.says ?? "");
      const quiet = findingsOf(build(c.quiet), { ...TARGET, ...c.quietTarget });
      expect(quiet.filter(({ rule }) => rule === c.rule)).toEqual([]);
    });

  for (const [rule, { fires, quiet }] of Object.entries(DECISIONS))
    it(`${rule}, which decides where no rule of the Neural Engine does`, () => {
      for (const made of fires) expect(made()).toContain(rule);
      for (const made of quiet) expect(made()).not.toContain(rule);
    });

  it("every rule has a case, a sentence and a source", () => {
    const tested = new Set<string>([...CASES.map((c) => c.rule), ...Object.keys(DECISIONS)]);
    expect(RULE_IDS.filter((id) => !tested.has(id))).toEqual([]);
    expect(new Set(RULE_IDS).size).toBe(RULE_IDS.length);
    for (const made of Object.values(DECISIONS))
      expect([made.fires.length > 0, made.quiet.length > 0]).toEqual([true, true]);
    // Those that are no decision are rules with a text of their own, once each.
    expect(RULES.map((r) => r.id)).toEqual(RULE_IDS.filter((id) => !(id in DECISIONS)));
    for (const r of RULES) expect([r.title.length > 3, r.source.length > 3]).toEqual([true, true]);
  });

  it("no prediction names another rule", () => {
    const known = new Set<string>(["", ...RULE_IDS]);
    for (const units of ["cpu", "cpu-ane", "cpu-gpu", "all"] as const)
      for (const rule of decidedIn(finish(legalise(demoGraph(), "coreml")).graph, units)) expect(known).toContain(rule);
  });
});
