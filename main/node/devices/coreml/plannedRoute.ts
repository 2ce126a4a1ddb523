/** Core ML's own plan for this machine beside the prediction. */
import type { Route } from "../../../backends/coreml/hybrid/route.ts";
import type { CpuEngine } from "../../../backends/cpu/engine.ts";
import type { Phase, TargetSpec } from "../../../contract/views/common.ts";
import { deviceCode, deviceOf } from "../../../contract/views/common.ts";
import type { PlannedRoute } from "../../../contract/views/route.ts";
import type { PlannedRequest } from "../../../engine/devices.ts";
import { packageRoute } from "../../../engine/models/hybrid.ts";
import type { OpenModel } from "../../../engine/models/openModel.ts";
import { planTarget, routeOf } from "../../../engine/models/routes.ts";
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import { graphHash } from "../../../ir/hash.ts";
import { packageWriter } from "../../files/packageDirectory.ts";
import type { CompiledModel } from "./compiledModels.ts";
import type { CoremlAccess } from "./device.ts";
import { unitsOf } from "./device.ts";
import { prepareModel } from "./prepare.ts";
import type { CoremlMachine, CoremlPlan } from "./native.ts";
import type { JoinedOp, JoinedPlan } from "./planned.ts";
import { joinPlan } from "./planned.ts";
import { compiledDecoder } from "./session.ts";

/** Most differences shown one by one. The columns hold all of them. */
const SHOWN = 200;

export interface PlannedParts {
  readonly coreml: CoremlAccess;
  readonly engine: () => CpuEngine;
}

async function compiledFor(
  parts: PlannedParts,
  model: OpenModel,
  route: Route,
  signal: AbortSignal,
): Promise<CompiledModel> {
  const { coreml, engine } = parts;
  if (!model.isGraphAlone) return compiledDecoder(coreml, { model, target: route.target, engine: engine(), signal });
  return prepareModel(coreml, {
    units: unitsOf(route.target),
    facts: ["route", graphHash(route.graph), JSON.stringify(route.target)],
    write: (path) => packageRoute(route, engine(), () => packageWriter(path), signal),
    signal,
  });
}

/** For systems without plans: the structure of our own compiled program. */
function structureOf(route: Route, refusal: string): CoremlPlan {
  const functions = (route.lowered?.functions ?? []).map(({ mil }) => mil);
  const ops = functions.flatMap(({ name, operations }) =>
    operations.map(({ type, outputs }) => ({
      function: name,
      op: type,
      output: outputs[0]?.name ?? "",
      preferred: "" as const,
      supported: [],
      cost: -1,
      depth: 0,
    })),
  );
  return { hasUsage: false, refusal, ops };
}

async function planOrStructure(
  parts: PlannedParts,
  compiled: CompiledModel,
  route: Route,
  signal: AbortSignal,
): Promise<CoremlPlan> {
  try {
    return await wholePlan(parts, compiled, route, signal);
  } catch (error) {
    if (!(error instanceof WorkbenchError) || error.code !== "ENV_NO_DEVICE") throw error;
    return structureOf(route, error.message.replace("[coreml] plan: ", ""));
  }
}

/** A plan has devices for the requested function only, so each function is asked for by itself. */
async function wholePlan(
  parts: PlannedParts,
  compiled: CompiledModel,
  route: Route,
  signal: AbortSignal,
): Promise<CoremlPlan> {
  const bridge = parts.coreml.bridge();
  const units = unitsOf(route.target);
  if (compiled.functions.length < 2) return bridge.plan(compiled.path, { units }, signal);
  const wanted = (route.lowered?.functions ?? []).map(({ mil }) => mil.name);
  const plans: CoremlPlan[] = [];
  for (const name of compiled.functions.filter((one) => wanted.includes(one))) {
    const plan = await bridge.plan(compiled.path, { units, function: name }, signal);
    plans.push({ ...plan, ops: plan.ops.filter((op) => op.function === name) });
  }
  return {
    hasUsage: plans.every((plan) => plan.hasUsage),
    refusal: plans.find((plan) => plan.refusal !== "")?.refusal ?? "",
    ops: plans.flatMap((plan) => plan.ops),
  };
}

const opView = (op: JoinedOp): PlannedRoute["differences"][number] => ({
  node: op.node,
  op: op.op,
  output: op.output,
  predicted: op.predicted,
  planned: op.planned ?? "none",
  cost: op.cost,
  rule: op.rule,
  sentence: op.reason,
});

function predictedShare(route: Route, device: string): number {
  let [own, all] = [0, 0];
  route.nodes.work.forEach((work, node) => {
    const on = deviceOf(route.nodes.device[node] ?? 0);
    if (on === "none" || on === "host") return;
    all += work;
    if (on === device) own += work;
  });
  return all === 0 ? 0 : own / all;
}

function sentenceOf(joined: JoinedPlan, plan: CoremlPlan, machine: CoremlMachine): string {
  const told = joined.ops.filter((op) => op.planned !== undefined).length;
  if (!plan.hasUsage) return `${joined.ops.length} operators, without devices: ${plan.refusal}`;
  const first = joined.firstDifference;
  const where =
    first === undefined
      ? ""
      : ` First: ${first.op} (${first.output}), predicted ${first.predicted}, planned ${first.planned ?? "none"}.`;
  return `On ${machine.chip}, macOS ${machine.os}: ${joined.agreeing} of ${told} operators as predicted.${where}`;
}

export function plannedView(
  route: Route,
  plan: CoremlPlan,
  machine: CoremlMachine,
  asked: { readonly target: TargetSpec; readonly phase: Phase; readonly truth: PlannedRoute["truth"] },
): PlannedRoute {
  const joined = joinPlan(route, plan);
  const planned = new Uint8Array(route.graph.nodes.length);
  for (const op of joined.ops) if (op.node >= 0 && op.planned !== undefined) planned[op.node] = deviceCode(op.planned);
  return {
    ...asked,
    targetTitle: route.title,
    machine: `${machine.chip}, macOS ${machine.os}`,
    refusal: plan.hasUsage ? null : plan.refusal,
    sentence: sentenceOf(joined, plan, machine),
    ops: joined.ops.length + joined.missing.length,
    joined: joined.ops.length,
    agreeing: joined.agreeing,
    differing: joined.ops.filter((op) => op.planned !== undefined && op.planned !== op.predicted).length,
    shares: (["ane", "gpu", "cpu"] as const).map((device) => ({
      device,
      predicted: predictedShare(route, device),
      planned: joined.shares[device],
    })),
    firstDifference: joined.firstDifference === undefined ? null : opView(joined.firstDifference),
    differences: joined.ops
      .filter((op) => op.planned !== undefined && op.planned !== op.predicted)
      .slice(0, SHOWN)
      .map(opView),
    nodes: { predicted: Uint8Array.from(route.nodes.device), planned },
  };
}

export async function plannedRoute(
  parts: PlannedParts,
  { model, target, phase, signal }: PlannedRequest,
): Promise<PlannedRoute> {
  const bridge = parts.coreml.bridge();
  // The plan is of the package as it is exported: both phases in one.
  const route = await routeOf(model, target, phase, signal);
  const compiled = await compiledFor(parts, model, { ...route, target: planTarget(model, target, phase) }, signal);
  const plan = await planOrStructure(parts, compiled, route, signal);
  const truth = bridge.truth === "measured" ? "planned" : "simulated";
  return plannedView(route, plan, bridge.machine(), { target, phase, truth });
}
