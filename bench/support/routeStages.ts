/**
 * The route of a deep model in one fresh process, stage by stage, as the engine makes it for a window that asks for the first
 * time. Prints one line of JSON: time and CPU time of each stage in milliseconds, how long a fixed loop takes here, and a
 * digest of all that was made, so that two versions can be held against each other. Bundled and started by `bench/route.ts`.
 */
import { createHash } from "node:crypto";
import { lowerGraph } from "../../main/backends/coreml/hybrid/loweredGraph.ts";
import type { Route } from "../../main/backends/coreml/hybrid/route.ts";
import { routeLowered } from "../../main/backends/coreml/hybrid/route.ts";
import { printProgram } from "../../main/backends/coreml/mil/print.ts";
import { oldestEqualOpset } from "../../main/backends/coreml/mil/opTable.ts";
import { resolveTarget, systemOf } from "../../main/backends/coreml/plan/target.ts";
import { heldInPackage } from "../../main/backends/coreml/weights/forms.ts";
import type { Compiled } from "../../main/compiler/compile.ts";
import { compile } from "../../main/compiler/compile.ts";
import { coremlCost } from "../../main/compiler/cost/coremlCost.ts";
import { machineFor } from "../../main/compiler/cost/machines.ts";
import { encodeFrame } from "../../main/contract/codec.ts";
import { ROUTED, routedStage } from "../../main/contract/views/graph.ts";
import { bindingsFor, stepTokens } from "../../main/engine/models/graphs.ts";
import { coremlEntry } from "../../main/engine/models/packageRequest.ts";
import { graphView } from "../../main/engine/views/graphView.ts";
import { routeView } from "../../main/engine/views/routeView.ts";
import { graphHash } from "../../main/ir/hash.ts";
import type { Steps } from "../../main/ir/steps.ts";
import { finish } from "../../main/ir/steps.ts";
import { DEEP, headerOnlyModel } from "../../main/models/headerOnly.ts";
import { template } from "../../main/models/template.ts";
import { opTable } from "../../main/ops/index.ts";

const [layers = "400", units = "cpu-ane", start = "warm"] = process.argv.slice(2);
const phase = "decode";
const stated = { chip: "m4", os: "macos15", units: units as "cpu-ane", profile: "auto" as const, context: 2048 };

interface Stage {
  readonly name: string;
  readonly milliseconds: number;
  /** Of all threads, the garbage collector's among them. */
  readonly cpu: number;
}
const stages: Stage[] = [];

async function stage<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  const [started, before] = [performance.now(), process.cpuUsage()];
  const made = await work();
  const { user, system } = process.cpuUsage(before);
  stages.push({ name, milliseconds: performance.now() - started, cpu: (user + system) / 1000 });
  return made;
}

const steps = <T>(name: string, work: () => Steps<T>): Promise<T> => stage(name, () => finish(work()));

/** CPU time, without the turns of others. Whole numbers only: it says how fast this machine is now, and nothing of our code. */
function fixedLoop(): number {
  const before = process.cpuUsage();
  let mixed = 1;
  for (let i = 0; i < 100_000_000; i++) mixed = (Math.imul(mixed, 1_664_525) + 1_013_904_223) | 0;
  if (mixed === 0) throw new Error("the loop came out as zero");
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function digestOf(compiled: Compiled, route: Route, views: readonly unknown[]): string {
  const hash = createHash("sha256");
  hash.update(graphHash(compiled.graph)).update(JSON.stringify(compiled.report));
  hash.update(JSON.stringify(compiled.graph.nodes.map(({ origins, passes }) => [origins, passes])));
  for (const { name, hits, misses, opsAfter } of compiled.records)
    hash.update(JSON.stringify([name, hits, misses, opsAfter]));
  if (route.lowered !== undefined) hash.update(printProgram(route.lowered.program));
  for (const view of views) hash.update(encodeFrame(view));
  return hash.digest("hex").slice(0, 16);
}

interface Made {
  readonly compiled: Compiled;
  readonly route: Route;
  readonly views: readonly unknown[];
}

async function makeRoute(blocks: number): Promise<Made> {
  const file = await stage("open the header", () => headerOnlyModel({ ...DEEP, layers: blocks }));
  const plan = resolveTarget(stated, phase);
  const target = { ...stated, options: undefined };
  const graph = await steps("build the graph", () => template(file, { cacheType: "f16" }));
  const compiled = await steps("compile", () =>
    compile(graph, { backend: "coreml", bindings: bindingsFor(graph, phase, plan.context), blocked: "keep" }),
  );
  const lowered = await steps("lower to MIL, with facts", () =>
    lowerGraph(compiled.graph, {
      table: opTable,
      entries: coremlEntry,
      profile: plan.profile,
      opset: oldestEqualOpset(systemOf(plan.os).opset),
      functionName: phase,
    }),
  );
  const route = await steps("place", () => routeLowered(lowered, plan));
  const machine = machineFor(target, { platform: "other", chip: "", cores: 1, totalBytes: 0 });
  const cost = await steps("cost", () => coremlCost({ route, machine, tokens: stepTokens(phase) }));
  const view = await stage("columns for the window", () =>
    routeView({ model: "1", route, cost, machine, target, phase }),
  );
  const key = { model: "1", stage: routedStage(ROUTED.backend, target), phase } as const;
  const drawn = await steps("graph for the window", () =>
    graphView({ key, graph: compiled.graph, table: opTable, bindings: {}, held: heldInPackage(plan.profile) }),
  );
  return { compiled, route, views: [view, drawn] };
}

// What a process that waits for its first model does meanwhile (main/engine/models/warmUp.ts).
if (start === "warm") for (let round = 0; round < 2; round++) await makeRoute(48);
stages.length = 0;
const before = process.cpuUsage();
const { compiled, route, views } = await makeRoute(Number(layers));
const whole = process.cpuUsage(before);
console.log(
  JSON.stringify({
    nodes: compiled.graph.nodes.length,
    operators: route.lowered?.functions.reduce((sum, { mil }) => sum + mil.operations.length, 0) ?? 0,
    stages,
    peakMegabytes: process.resourceUsage().maxRSS / 1000,
    cpu: (whole.user + whole.system) / 1000,
    fixedLoop: fixedLoop(),
    digest: digestOf(compiled, route, views),
  }),
);
