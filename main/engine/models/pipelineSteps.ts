/**
 * The way of a graph to its backend, step by step, with numbers that compare: how many ops there are after each step, and what a
 * program would cost that took the shortest way to the end from there (legalised, and for Core ML lowered and routed). So a
 * pass that makes the program worse is seen where it stands, and can be found by halving.
 */
import { lowerGraph } from "../../backends/coreml/hybrid/loweredGraph.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { routeLowered } from "../../backends/coreml/hybrid/route.ts";
import { leversOf, leversText, NO_OPTIONS } from "../../backends/coreml/levers.ts";
import { systemOf } from "../../backends/coreml/plan/target.ts";
import { compile } from "../../compiler/compile.ts";
import { coremlCost } from "../../compiler/cost/coremlCost.ts";
import type { Machine } from "../../compiler/cost/machines.ts";
import type { StepCost } from "../../compiler/cost/stepCost.ts";
import { deviceSeconds } from "../../compiler/cost/stepCost.ts";
import type { DispatchPolicy } from "../../compiler/support.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { Backend } from "../../contract/views/graph.ts";
import { BUILT, LEGAL, LEGALISE, loweredOf, ROUTED, SEGMENT, sourceOf } from "../../contract/views/graph.ts";
import type { Graph } from "../../ir/graph.ts";
import type { Steps } from "../../ir/steps.ts";
import { opTable } from "../../ops/index.ts";
import { shareOf } from "../measure/costFigures.ts";
import type { Placed } from "../views/routeView.ts";
import type { Pipeline } from "./graphs.ts";
import { passRecords, stepTokens } from "./graphs.ts";
import type { OpenModel } from "./openModel.ts";
import { onOneDevice } from "./ownRoutes.ts";
import { coremlEntry } from "./packageRequest.ts";
import { planTarget, routeOf } from "./routes.ts";
import type { TaskKind } from "./taskCache.ts";
import { inSlices, tasksOf } from "./taskCache.ts";

export interface StepsAsked {
  readonly backend: Backend;
  readonly target: TargetSpec;
  readonly phase: Phase;
  readonly dispatch: DispatchPolicy;
  readonly machine: Machine;
}

/** A step whose graph differs from that of the one before it, or one of the last that decide about it. */
export interface PipelineStep {
  readonly name: string;
  readonly graph: Graph;
  /** Ops that the backend cannot run: known of the legal graph. */
  readonly blocked: number;
  /** What its ops are. */
  readonly counts: string;
  /** The step whose program it stands for: one that changes nothing is worth what the one before it is. */
  readonly worth: string;
}

export interface StepNumbers {
  /** null where there is one device. */
  readonly hops: number | null;
  readonly aneShare: number | null;
  readonly seconds: number;
  /** Device code of each operation of the model as built, 0 where nothing stands for it: its heaviest node decides. */
  readonly devices: Uint8Array;
}

/** What the ops of every graph are. */
export const OPS = "ops";

const NUMBERS: TaskKind<StepNumbers> = { name: "numbers of a step", keep: 96 };

/** As built, after each pass that changed something, then from the verdicts of the ops to what the runtime is given. */
export async function stepsOf(
  model: OpenModel,
  asked: StepsAsked,
  signal: AbortSignal,
): Promise<readonly PipelineStep[]> {
  const { records } = await passRecords(model, pipelineOf(model, asked), signal);
  const [first, last] = [records[0], records.at(-1)];
  if (first === undefined || last === undefined) return [];
  const made = records.slice(0, -1).filter(({ changed }) => changed);
  const graphs = [{ name: BUILT, after: first.before }, ...made];
  const end = graphs.at(-1)?.name ?? BUILT;
  const { step, counts } = loweredOf(asked.backend);
  const own = (name: string, graph: Graph, worth = name): PipelineStep => ({
    ...{ name, graph, worth, counts: OPS },
    blocked: name === LEGAL ? last.misses.length : 0,
  });
  return [
    ...graphs.map(({ name, after }) => own(name, after)),
    own(LEGALISE, last.before, end),
    own(LEGAL, last.after),
    ...(asked.backend === ROUTED.backend ? [own(SEGMENT, last.after, LEGAL)] : []),
    {
      ...own(step, last.after, asked.backend === ROUTED.backend ? step : LEGAL),
      ...{ counts, blocked: last.misses.length },
    },
  ];
}

function pipelineOf(model: OpenModel, { backend, target, phase, dispatch }: StepsAsked): Pipeline {
  const { context } = planTarget(model, target, phase);
  return { backend, phase, context, precision: "f32", dispatch };
}

/** What a program would be worth that took the shortest way to the end from here; for Core ML, without the target's options. */
export function numbersOf(
  model: OpenModel,
  asked: StepsAsked,
  step: PipelineStep,
  signal: AbortSignal,
): Promise<StepNumbers> {
  const { backend, target, phase, dispatch, machine } = asked;
  const plan = planTarget(model, target, phase);
  const levers = leversText(leversOf(plan));
  const key = [step.worth, backend, dispatch, JSON.stringify(machine), levers, ...Object.values(plan).map(String)];
  return tasksOf(model).get(NUMBERS, key.join(" "), signal, async (own) => {
    if (backend === ROUTED.backend && (step.worth === LEGAL || step.worth === loweredOf(backend).step))
      return inSlices(routedNumbers(await routeAt(model, asked, step, own), asked), own);
    return inSlices(numbers(asked, step, plan), own);
  });
}

/** The route of Core ML's last steps: options of the target, other ways to lower, come in with the MIL. */
export const routeAt = (
  model: OpenModel,
  { target, phase }: Pick<StepsAsked, "target" | "phase">,
  { worth }: PipelineStep,
  signal: AbortSignal,
): Promise<Route> => routeOf(model, worth === LEGAL ? withoutLevers(target) : target, phase, signal);

/** Units of prefill are no way to lower: they stay. */
const withoutLevers = (target: TargetSpec): TargetSpec =>
  target.options === undefined
    ? target
    : { ...target, options: { ...NO_OPTIONS, prefillUnits: target.options.prefillUnits } };

function* numbers(asked: StepsAsked, { graph }: PipelineStep, plan: ReturnType<typeof planTarget>): Steps<StepNumbers> {
  const { backend, phase, dispatch, machine } = asked;
  const legal = yield* compile(graph, { backend, dispatch, passes: [], blocked: "keep" });
  if (backend !== "coreml") {
    const route = yield* onOneDevice(legal.graph, legal.blocked, { backend, machine, phase, context: plan.context });
    const { cost } = route;
    return { hops: null, aneShare: null, seconds: cost.step.value, devices: bySource(route, cost) };
  }
  const { opset } = systemOf(plan.os);
  const { profile } = plan;
  const lowering = { table: opTable, entries: coremlEntry, profile, opset, functionName: phase };
  const shortest = { ...plan, options: NO_OPTIONS };
  return yield* routedNumbers(yield* routeLowered(yield* lowerGraph(legal.graph, lowering), shortest), asked);
}

function* routedNumbers(route: Route, { machine, phase }: StepsAsked): Steps<StepNumbers> {
  const cost = yield* coremlCost({ route, machine, tokens: stepTokens(phase) });
  return {
    hops: route.hops.length,
    aneShare: shareOf(deviceSeconds(cost, "ane"), cost),
    seconds: cost.step.value,
    devices: bySource(route, cost),
  };
}

function bySource({ graph, nodes }: Pick<Placed, "graph" | "nodes">, cost: StepCost): Uint8Array {
  const { value } = cost.nodes;
  const last = graph.nodes.reduce((most, { origins }) => Math.max(most, ...origins.map(({ source }) => source)), 0);
  const devices = new Uint8Array(last + 1);
  const heaviest = new Float64Array(last + 1).fill(-1);
  for (const { id, origins } of graph.nodes) {
    const code = nodes.device[id] ?? 0;
    if (code === 0) continue;
    for (const { source } of origins)
      if ((value[id] ?? 0) > (heaviest[source] ?? -1)) {
        heaviest[source] = value[id] ?? 0;
        devices[source] = code;
      }
  }
  return devices;
}

/** What a halving looks at: a number that must not get worse, or the device of an op, by its id. Ops are counted, not worked out. */
export type Watched = "ane" | "hops" | "seconds" | "ops" | { readonly op: number };

/** Worse by more than rounding. */
const WORSE = 1e-3;

export function valueOf(watched: Watched, numbers: StepNumbers & { readonly ops: number }): number | null {
  if (typeof watched === "object") return numbers.devices[sourceOf(watched.op)] ?? 0;
  if (watched === "ane") return numbers.aneShare;
  return numbers[watched];
}

export function isWorse(watched: Watched, good: number, value: number): boolean {
  if (typeof watched === "object") return value !== good;
  return watched === "ane" ? value < good - WORSE : value > good * (1 + WORSE);
}

export interface Halving {
  /** The step that lost it; undefined: nothing got worse between the first and the last. */
  readonly lostAt: number | undefined;
  /** Values by step, of those that were looked at. */
  readonly values: ReadonlyMap<number, number>;
}

/** Finds a step after which a value is worse than at the first one, while it is not worse after the step before. */
export async function halve(
  count: number,
  watched: Watched,
  valueAt: (step: number) => Promise<number>,
): Promise<Halving> {
  const values = new Map<number, number>();
  const at = async (step: number): Promise<number> => {
    const value = values.get(step) ?? (await valueAt(step));
    values.set(step, value);
    return value;
  };
  let [good, bad] = [0, count - 1];
  const first = await at(good);
  if (!isWorse(watched, first, await at(bad))) return { lostAt: undefined, values };
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isWorse(watched, first, await at(middle))) bad = middle;
    else good = middle;
  }
  return { lostAt: bad, values };
}
