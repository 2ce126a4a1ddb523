/**
 * A profile on Core ML. Steps and predictions are timed; operations get shares by the costs of the
 * compute plan (apportion.ts), joined to the model's operations by output names. Every number says
 * which of the two it is.
 */
import type { Truth } from "../../../contract/views/common.ts";
import type { ProfileView } from "../../../contract/views/run.ts";
import { completeProfile } from "../../../contract/recordings/complete.ts";
import type { StepParts } from "../../../backends/coreml/hybrid/hostedRunner.ts";
import type { Route } from "../../../backends/coreml/hybrid/route.ts";
import type { MemoryLooks, RunSpan } from "../../../runtime/profile.ts";
import { recordRuns } from "../../../runtime/profile.ts";
import type { ProfileRequest } from "../../../engine/devices.ts";
import { absentLanes, stepColumns } from "../../../engine/measure/profileColumns.ts";
import { chipTitle } from "../../machine/machineInfo.ts";
import type { OpenModel } from "../../../engine/models/openModel.ts";
import { routeOf } from "../../../engine/models/routes.ts";
import { StringTable } from "../../../engine/views/strings.ts";
import type { Slice, TimedPrediction, WeighedOp } from "./apportion.ts";
import { apportion } from "./apportion.ts";
import type { PredictionTimes } from "./bridgeRunner.ts";
import type { CoremlAccess } from "./device.ts";
import { COREML, trialTimes, unitsOf } from "./device.ts";
import type { CoremlLease } from "./session.ts";
import type { CoremlPlan } from "./native.ts";
import type { TrialTimes } from "./trial.ts";

export interface Recorded {
  readonly steps: readonly RunSpan[];
  readonly predictions: readonly TimedPrediction[];
  /** Parts of the graph that the host ran. */
  readonly hostParts: readonly Slice[];
  readonly memory: MemoryLooks;
}

export async function profileCoreml(
  coreml: CoremlAccess,
  model: OpenModel,
  lease: CoremlLease,
  options: ProfileRequest,
): Promise<ProfileView> {
  const recorded = await record(lease, options);
  const plans = new Map<string, readonly WeighedOp[]>();
  let refusal = "";
  for (const name of new Set(recorded.predictions.map((one) => one.function))) {
    const plan = await planOf(coreml, lease, name, options.signal);
    if (typeof plan === "string") refusal = plan;
    else plans.set(name, weighed(await functionRoute(model, lease, name, options.signal), plan, name));
  }
  const bridge = coreml.bridge();
  const { chip, os } = bridge.machine();
  const slices = [...apportion(recorded.predictions, plans), ...recorded.hostParts];
  return coremlProfileView(recorded, slices, {
    model: model.description.title,
    truth: bridge.truth,
    machine: bridge.truth === "measured" ? `${chip}, macOS ${os}` : `${chip}, simulated on ${chipTitle()}`,
    refusal,
    trial: await trialTimes(coreml, lease.compiled, unitsOf(lease.target)),
    loadSeconds: lease.runner.loadSeconds,
  });
}

/** Runs, and the predictions and host parts of each: those that ended since the run before. */
export async function record(
  { session, runner, hosted }: Pick<CoremlLease, "session" | "runner"> & Partial<Pick<CoremlLease, "hosted">>,
  options: ProfileRequest,
): Promise<Recorded> {
  const steps: RunSpan[] = [];
  const predictions: TimedPrediction[] = [];
  const hostParts: Slice[] = [];
  let pending: PredictionTimes[] = [];
  let ran: StepParts[] = [];
  let origin = 0;
  const begin = (): void => {
    pending = [];
    ran = [];
    origin = performance.now() / 1000;
  };
  runner.onPrediction = (times) => void pending.push(times);
  if (hosted !== undefined) hosted.onParts = (parts) => void ran.push(parts);
  try {
    const memory = await recordRuns(session, { ...options, onBegin: begin }, (span) => {
      for (const { start, ...times } of pending)
        predictions.push({ ...times, start: start - origin, step: steps.length });
      for (const parts of ran) hostParts.push(...slicesOf(parts, steps.length, origin));
      pending = [];
      ran = [];
      steps.push(span);
    });
    return { steps, predictions, hostParts, memory };
  } finally {
    runner.onPrediction = undefined;
    if (hosted !== undefined) hosted.onParts = undefined;
  }
}

function slicesOf({ function: name, program, timings }: StepParts, step: number, origin: number): readonly Slice[] {
  return timings.flatMap(({ part, side, start, seconds }): Slice[] => {
    if (side === "coreml") return [];
    const nodes = (program.parts[part]?.nodes ?? []).map((id) => program.graph.nodes[id]);
    const op = [...new Set(nodes.map((node) => node?.op ?? ""))].join(" + ");
    const sources = [...new Set(nodes.flatMap((node) => node?.origins.map(({ source }) => source) ?? []))];
    const label = `${name}: part ${part + 1}`;
    return [{ kind: "part", step, start: start - origin, seconds, op, label, device: "host", sources }];
  });
}

/** The plan of one function, or why there is none. */
async function planOf(
  coreml: CoremlAccess,
  { compiled, target }: CoremlLease,
  name: string,
  signal: AbortSignal,
): Promise<CoremlPlan | string> {
  const chosen = compiled.functions.length > 1 ? { function: name } : {};
  try {
    const plan = await coreml.bridge().plan(compiled.path, { units: unitsOf(target), ...chosen }, signal);
    const ops = plan.ops.filter((op) => compiled.functions.length < 2 || op.function === name);
    return plan.hasUsage ? { ...plan, ops } : plan.refusal;
  } catch (error) {
    if (signal.aborted) throw error;
    return error instanceof Error ? error.message.replace("[coreml] ", "") : String(error);
  }
}

const functionRoute = (model: OpenModel, { target }: CoremlLease, name: string, signal: AbortSignal): Promise<Route> =>
  routeOf(model, target, name.startsWith("prefill") ? "prefill" : "decode", signal);

/** Operators of a plan with the operations of the model that they compute. */
export function weighed(route: Route, plan: CoremlPlan, name: string): readonly WeighedOp[] {
  const sources = sourcesByOutput(route, name);
  return plan.ops.flatMap(({ op, output, preferred, cost }) =>
    preferred === "" ? [] : [{ op, output, device: preferred, cost, sources: sources.get(output) ?? [] }],
  );
}

/** Of a graph with host parts, a function is the part whose number its name ends with. */
function sourcesByOutput(route: Route, name: string): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, readonly number[]>();
  const parts = route.parts.filter((one) => one.side === "coreml");
  for (const [i, part] of parts.entries()) {
    if (parts.length > 1 && !name.endsWith(`_${part.index}`)) continue;
    for (const operation of route.lowered?.functions[i]?.mil.operations ?? []) {
      const [output] = operation.outputs;
      if (output === undefined) continue;
      const nodes = operation.origins.map((own) => route.graph.nodes[part.origin[own] ?? -1]);
      found.set(output.name, [...new Set(nodes.flatMap((node) => node?.origins.map(({ source }) => source) ?? []))]);
    }
  }
  return found;
}

// ------------------------------------------------------------------------------------------ view

export interface ProfileFacts {
  readonly model: string;
  /** Label of whole predictions. */
  readonly truth: Extract<Truth, "measured" | "simulated">;
  readonly machine: string;
  /** The reason why the plan has no costs; empty if it has. */
  readonly refusal: string;
  readonly trial: readonly TrialTimes[];
  readonly loadSeconds: number;
}

/** Core ML tells no times of operations: those of a lane are shared out, or they are the clock's. */
const LANES = [
  { title: "Neural Engine, attributed", device: "ane" },
  { title: "GPU, attributed", device: "gpu" },
  { title: "CPU, attributed", device: "cpu" },
  { title: "Copies in and out, clocked", device: "host" },
  { title: "Whole predictions, clocked", device: "none" },
] as const;

export function coremlProfileView(recorded: Recorded, slices: readonly Slice[], facts: ProfileFacts): ProfileView {
  const attributed = slices.some(({ kind }) => kind === "attributed");
  const strings = new StringTable();
  const hasParts = slices.some(({ kind }) => kind === "part");
  const lanes = LANES.filter(({ device }) => slices.some((slice) => slice.device === device)).map((lane) => {
    const shared = slices.some(({ kind, device }) => device === lane.device && kind === "attributed");
    const title = lane.device === "host" && hasParts ? "Host parts and copies, clocked" : lane.title;
    return { ...lane, title, truth: facts.truth === "measured" && shared ? ("attributed" as const) : facts.truth };
  });
  const nodeStart = new Uint32Array(slices.length + 1);
  const nodes: number[] = [];
  slices.forEach((slice, i) => {
    nodeStart[i] = nodes.length;
    nodes.push(...slice.sources);
  });
  nodeStart[slices.length] = nodes.length;
  const { model, machine, truth } = facts;
  return completeProfile({
    ...{ model, machine, device: COREML, recordedAt: Date.now(), note: noteOf(attributed, facts) },
    truth: truth === "measured" && attributed ? "attributed" : truth,
    peakBandwidth: null,
    strings: strings.strings,
    lanes,
    absent: absentLanes(
      lanes.map(({ device }) => device),
      0,
      recorded.memory.time.length,
    ),
    steps: stepColumns(recorded.steps),
    slices: {
      start: Float64Array.from(slices, (slice) => slice.start),
      seconds: Float32Array.from(slices, (slice) => slice.seconds),
      lane: Uint8Array.from(slices, (slice) => lanes.findIndex(({ device }) => device === slice.device)),
      step: Uint32Array.from(slices, (slice) => slice.step),
      op: Uint32Array.from(slices, (slice) => strings.add(slice.op)),
      label: Uint32Array.from(slices, (slice) => strings.add(slice.label)),
      bytes: new Float64Array(slices.length),
      nodeStart,
      nodes: Uint32Array.from(nodes),
    },
    threads: { count: 0, busy: new Float32Array(0) },
    memory: recorded.memory,
  });
}

const secondsText = (seconds: number): string =>
  seconds < 0.1 ? `${(seconds * 1e3).toFixed(1)} ms` : `${seconds.toFixed(1)} s`;

function noteOf(attributed: boolean, { refusal, trial, loadSeconds, truth }: ProfileFacts): string {
  const how = attributed
    ? "Whole predictions are timed; those of operations are the same times shared out by the cost weights of Core ML's plan, not measured."
    : `Whole predictions only: the system gives no costs of operations (${refusal === "" ? "its plan has none" : refusal}).`;
  const sum = (pick: (times: TrialTimes) => number): string =>
    secondsText(trial.reduce((all, one) => all + pick(one), 0));
  const before =
    trial.length === 0
      ? ""
      : ` When it was tried out: compile ${sum((one) => one.compileSeconds)}, load ${sum((one) => one.loadSeconds)}, first prediction ${sum((one) => one.firstSeconds)}.`;
  const simulated = truth === "simulated" ? "Core ML is simulated: these times say nothing about a Mac. " : "";
  return `${simulated}${how}${before} Load now: ${secondsText(loadSeconds)}.`;
}
