// Routes as the engine keeps them: whatever was asked before, however often a question was taken
// back, the answer is the one of a fresh computation, and no other caller waits for it.
import { finish } from "../../ir/steps.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { routeGraph } from "../../backends/coreml/hybrid/route.ts";
import { CHIPS, graphTargetTitle, SYSTEMS, UNITS } from "../../backends/coreml/plan/target.ts";
import { machineFor } from "../../compiler/cost/machines.ts";
import { legalise } from "../../compiler/legalise.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import { specialize } from "../../ir/specialize.ts";
import { opTable } from "../../ops/index.ts";
import { pipelineFor } from "../../compiler/pipelines.ts";
import { runPipeline } from "../../passes/pipeline.ts";
import { modelStoreIn } from "../../testing/modelStore.ts";
import { seededRandom } from "../../testing/random.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { costOfRoute } from "../models/costs.ts";
import { bindingsFor, templateOf } from "../models/graphs.ts";
import { coremlEntry } from "../models/packageRequest.ts";
import { planTarget } from "../models/routes.ts";
import { routeView } from "../views/routeView.ts";

const TARGET: TargetSpec = { chip: "m4", os: "macos15", units: "cpu-ane", profile: "auto", context: 512 };
/** The tests' own machine is no Mac. */
const ELSEWHERE = { platform: "linux", chip: "", cores: 1, totalBytes: 0 };
const PROFILES = ["auto", "ane", "gpu", "exact"] as const;

let harness: Harness;
/** The same models, opened beside the engine. */
let store: ModelStore;
let close: () => Promise<void>;
const beside = new Map<string, OpenModel>();
beforeAll(async () => {
  harness = await engineHarness();
  ({ store, close } = modelStoreIn(harness.folder));
});
afterAll(async () => {
  await close();
  await harness.done();
});

const open = async (id: string): Promise<string> => {
  const source = { kind: "offer", id } as const;
  const { model } = await harness.client.call("model.open", { source });
  beside.set(model, await store.open(source));
  return model;
};

/** Nothing kept, nothing shared, nothing sliced. */
async function fresh(model: string, target: TargetSpec, phase: Phase): Promise<unknown> {
  const opened = beside.get(model)!;
  const plan = planTarget(opened, target, phase);
  const template = await templateOf(opened, new AbortController().signal);
  const bound = finish(specialize(opTable, template, bindingsFor(template, phase, plan.context)));
  const { graph } = finish(legalise(finish(runPipeline(bound, { passes: pipelineFor("coreml") })).graph, "coreml"));
  const options = { table: opTable, entries: coremlEntry, target: plan, functionName: phase, share: false };
  const machine = machineFor(target, ELSEWHERE);
  const made = routeGraph(graph, options);
  const route = opened.isGraphAlone ? { ...made, title: graphTargetTitle(plan) } : made;
  const cost = await costOfRoute({ model: opened, phase, machine }, route, new AbortController().signal);
  return routeView({ model, route, cost, machine, target, phase });
}

for (const [id, count] of [
  ["demo-hybrid", 40],
  ["sample", 16],
  ["header-only-1b", 6],
] as const)
  it(`${id}: ${count} targets one after the other, some cancelled, each as if it were the first`, async () => {
    const random = seededRandom(11);
    const model = await open(id);
    for (let i = 0; i < count; i++) {
      const os = random.pick(SYSTEMS).id;
      const target: TargetSpec = {
        chip: random.pick(CHIPS).id,
        os,
        units: random.pick(UNITS).id,
        profile: os === "macos14" ? "auto" : random.pick(PROFILES),
        context: random.pick([256, 512]),
      };
      const phase = random.pick(["decode", "prefill"] as const);
      if (random.integer(3) === 0) {
        const abort = new AbortController();
        const left = harness.client.call(
          "route.get",
          { model, target: { ...target, chip: "m1" }, phase },
          { signal: abort.signal },
        );
        setTimeout(() => abort.abort(), random.integer(4));
        await left.catch((error: unknown) => expect(error).toMatchObject({ code: "CANCELLED" }));
      }
      expect(await harness.client.call("route.get", { model, target, phase })).toEqual(
        await fresh(model, target, phase),
      );
    }
    await harness.client.call("model.close", { model });
  });

it("the graph of a target serves every chip and system of its context", async () => {
  const model = await open("sample");
  const get = (target: TargetSpec) =>
    harness.client.call("graph.get", { model, stage: { backend: "coreml", step: "legal", target }, phase: "decode" });
  const others = { ...TARGET, chip: "m1", os: "macos26", units: "all" } as const;
  const [first, second] = [await get({ ...TARGET, profile: "ane" }), await get({ ...others, profile: "ane" })];
  expect(second).toEqual({ ...first, key: second.key });
  // Packed weights are fewer bytes to read, and nothing else is another.
  const packed = await get({ ...others, profile: "gpu" });
  const sum = (bytes: Float32Array): number => bytes.reduce((all, each) => all + each, 0);
  expect(sum(packed.nodes.bytesRead)).toBeLessThan(sum(first.nodes.bytesRead));
  expect(packed).toEqual({ ...first, key: packed.key, nodes: { ...first.nodes, bytesRead: packed.nodes.bytesRead } });
  expect(second.key.stage).toMatchObject({ target: { chip: "m1", os: "macos26", units: "all" } });
  const other = await get({ ...TARGET, context: 256 });
  expect(other.edges.bytes).not.toEqual(first.edges.bytes);
});

it("a node of that graph is explained for the target that is named", async () => {
  const model = await open("sample");
  const key = { model, stage: { backend: "coreml", step: "legal", target: TARGET }, phase: "decode" } as const;
  const route = await harness.client.call("route.get", { model, target: TARGET, phase: "decode" });
  const node = route.nodes.device.findIndex((code) => code !== 0);
  const cpu = { ...TARGET, units: "cpu" } as const;
  const view = await harness.client.call("graph.node", { key, node, target: cpu });
  expect(view.placement).toMatchObject({ device: "cpu", target: cpu });
});

it("an op has its own reasons: none of its free steps, none of a Neural Engine that the target leaves out", async () => {
  const model = await open("sample");
  const target = { ...TARGET, units: "cpu-gpu" } as const;
  const key = { model, stage: { backend: "coreml", step: "legal", target }, phase: "decode" } as const;
  const graph = await harness.client.call("graph.get", key);
  const node = graph.nodes.op.findIndex((op) => graph.strings[op] === "linear");
  const { placement } = await harness.client.call("graph.node", { key, node, target });
  expect(placement?.rules.map(({ id }) => id)).toEqual(["gpu-faster"]);
});

it("a rule about a part of an op names the part", async () => {
  const model = await open("sample");
  const target = { ...TARGET, units: "cpu-ane" } as const;
  const key = { model, stage: { backend: "coreml", step: "legal", target }, phase: "decode" } as const;
  const graph = await harness.client.call("graph.get", key);
  const node = graph.nodes.op.findIndex((op) => graph.strings[op] === "attention_cached");
  const { placement } = await harness.client.call("graph.node", { key, node, target });
  const hard = placement?.rules.filter(({ verdict }) => verdict === "hard").map(({ sentence }) => sentence);
  // Attention compares positions: whole numbers, which the Neural Engine has not.
  expect(hard).toEqual([
    "The Neural Engine has no int32 arithmetic; such values only serve as indices and shapes (of less).",
    "Casts with bool are done where the integers are, on the CPU (of cast).",
  ]);
});

it("an op that became several operations says where each of them runs, and counts for the place of the heaviest", async () => {
  const model = await open("sample");
  const target = { ...TARGET, units: "cpu-ane" } as const;
  const key = { model, stage: { backend: "coreml", step: "legal", target }, phase: "decode" } as const;
  const graph = await harness.client.call("graph.get", key);
  const route = await harness.client.call("route.get", { model, target, phase: "decode" });
  for (const [op, least] of [
    ["rms_norm", 10],
    ["attention_cached", 3],
  ] as const) {
    const node = graph.nodes.op.findIndex((each) => graph.strings[each] === op);
    const { placement, mil } = await harness.client.call("graph.node", { key, node, target });
    const { lowering } = placement!;
    expect(lowering).toEqual(route.lowerings[route.nodes.lowering[node]!]);
    expect(lowering?.operations).toBeGreaterThanOrEqual(least);
    const told = lowering!.groups.flatMap(({ operations }) => operations);
    expect(told.flatMap(({ type, count }) => Array<string>(count).fill(type)).sort()).toEqual(
      [...mil!.operations].sort(),
    );
    expect(lowering!.groups.reduce((sum, { workShare }) => sum + workShare, 0)).toBeCloseTo(1, 6);
    expect(lowering!.groups.map(({ device }) => device)).toContain(placement?.device);
    for (const { rule } of lowering!.groups) expect(rule.sentence).toMatch(/^[A-Z].*\.$/);
  }
  const linear = graph.nodes.op.findIndex((op) => graph.strings[op] === "linear");
  const { placement } = await harness.client.call("graph.node", { key, node: linear, target });
  expect(placement?.lowering === null).toBe(route.nodes.lowering[linear] === 0);
});

it("a large model is worked out between other answers, and not at all once no caller wants it", async () => {
  const model = await open("header-only-400");
  const abort = new AbortController();
  const order: string[] = [];
  const route = harness.client
    .call("route.get", { model, target: TARGET, phase: "decode" }, { signal: abort.signal })
    .catch((error: unknown) => {
      order.push("cancelled");
      throw error;
    });
  const refused = expect(route).rejects.toMatchObject({ code: "CANCELLED" });
  for (let i = 0; i < 5; i++) {
    await harness.client.call("engine.status", {});
    order.push("status");
  }
  abort.abort();
  await refused;
  expect(order).toEqual([...Array<string>(5).fill("status"), "cancelled"]);
  await harness.client.call("model.close", { model });
});
