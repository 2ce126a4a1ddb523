/**
 * The cost of a step of an open model for a subject: a backend, and for Core ML the target. The one source of predicted seconds:
 * routes, the verdict, "How fast?" and advice all ask here.
 */
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { profileOf, readingUnit } from "../../backends/coreml/plan/target.ts";
import { paletteOf } from "../../backends/coreml/levers.ts";
import type { PaletteWish, WeightProfile } from "../../backends/coreml/weights/forms.ts";
import { heldInPackage, PROFILE_PRECISION } from "../../backends/coreml/weights/forms.ts";
import { heldByMlx } from "../../backends/mlx/weightForms.ts";
import { coremlCost } from "../../compiler/cost/coremlCost.ts";
import { graphCost } from "../../compiler/cost/graphCost.ts";
import type { Machine } from "../../compiler/cost/machines.ts";
import type { StepCost } from "../../compiler/cost/stepCost.ts";
import type { DispatchPolicy } from "../../compiler/support.ts";
import type { Phase } from "../../contract/views/common.ts";
import type { Subject } from "../../contract/views/cost.ts";
import type { OwnBackend } from "../../contract/views/graph.ts";
import { backendTitle, LEGAL } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import type { Steps } from "../../ir/steps.ts";
import type { CacheType } from "../../models/blocks.ts";
import { CHUNK, isWholeText, TEMPLATE } from "../../models/template.ts";
import type { EngineDevices } from "../devices.ts";
import type { Runner } from "../measure/forecast.ts";
import type { MachineOf } from "../measure/thisMachine.ts";
import { subjectTitle } from "../measure/subjectWords.ts";
import { counted } from "../words.ts";
import type { Pipeline, StepRecord } from "./graphs.ts";
import { bindingsFor, passRecords, recordNamed, templateOf } from "./graphs.ts";
import type { OpenModel } from "./openModel.ts";
import { planTarget, routeOf } from "./routes.ts";
import type { TaskKind } from "./taskCache.ts";
import { inSlices, tasksOf } from "./taskCache.ts";

export interface CostRequest {
  readonly model: OpenModel;
  readonly subject: Subject;
  readonly phase: Phase;
  readonly machine: Machine;
  readonly dispatch: DispatchPolicy;
}

/** A cost with the graph whose nodes it counts. */
export interface SubjectCost {
  readonly graph: Graph;
  readonly cost: StepCost;
  /** Where Core ML runs each node, and why: a route's columns without its program. */
  readonly placement: Placed | undefined;
}
type Placed = Pick<Route["nodes"], "device" | "verdict"> & Pick<Route, "verdicts">;

const COST: TaskKind<SubjectCost> = { name: "cost", keep: 16 };

/** What of an engine's own computes, and how it holds weights. */
const ENGINES = {
  cpu: { unit: "cpu", held: heldAsStored, form: "as the file packs them" },
  mlx: { unit: "gpu", held: heldByMlx, form: "in MLX's groups of 32, or f16" },
} as const;

/** Engines of our own whose memory is forecast here, in the order of the list. */
export const enginesOf = (devices: EngineDevices): readonly OwnBackend[] =>
  devices.listed.flatMap(({ backend, reads }) =>
    backend === undefined || backend === "coreml" || reads === undefined ? [] : [backend],
  );

/** What it holds of the weights, and in which form it keeps keys and values: `cacheType`, where it takes that. */
export function runnerOf(subject: Subject, devices: EngineDevices, cacheType?: CacheType | null): Runner {
  const title = subjectTitle(subject);
  if (subject.backend !== "coreml") {
    const kept = devices.listed.find(({ backend }) => backend === subject.backend)?.kept;
    const isTaken = cacheType === "f16" || cacheType === "f32" || kept?.packs === true;
    const cache = (isTaken ? cacheType : null) ?? kept?.cacheType ?? "f16";
    return { ...ENGINES[subject.backend], title, cache, rings: kept?.rings ?? false };
  }
  const profile = profileOf(subject.target);
  const [unit, palette] = [readingUnit(subject.target.units, profile), paletteOf(subject.target)];
  return {
    title,
    unit,
    // The others unpack a palette when they load it.
    held: heldInPackage(profile, unit === "ane" ? palette : undefined),
    form: formWords(profile, unit === "ane" ? palette : undefined),
    cache: PROFILE_PRECISION[profile],
  };
}

function formWords(profile: WeightProfile, palette: PaletteWish | undefined): string {
  const floats = palette === undefined ? "in f16" : `in a palette of ${palette.bits} bits`;
  if (profile === "f32") return "in f32";
  return profile === "ane" ? floats : `packed for the ${profile} profile`;
}

export function costOf(request: CostRequest, signal: AbortSignal): Promise<SubjectCost> {
  const { model, subject, phase, machine } = request;
  const key = JSON.stringify([subject, phase, machine]);
  return tasksOf(model).get(COST, key, signal, (own) =>
    subject.backend === "coreml" ? onCoreml(request, own) : onEngine(request, subject.backend, own),
  );
}

/** Costs as the engine asks for them: with what is known of the machine. */
export interface CostAccess {
  readonly dispatch: DispatchPolicy;
  readonly machineOf: MachineOf;
  of(model: OpenModel, subject: Subject, phase: Phase, signal: AbortSignal): Promise<SubjectCost>;
}

export const costAccess = (parts: Pick<CostAccess, "dispatch" | "machineOf">): CostAccess => ({
  ...parts,
  of: async (model, subject, phase, signal) => {
    const machine = await parts.machineOf(subject.target);
    return costOf({ model, subject, phase, machine, dispatch: parts.dispatch }, signal);
  },
});

/** The cost of a route that there is: what `costOf` gives for Core ML. */
export async function costOfRoute(
  { model, phase, machine }: Pick<CostRequest, "model" | "phase" | "machine">,
  route: Route,
  signal: AbortSignal,
): Promise<StepCost> {
  const { [TEMPLATE.tokens]: tokens = 1 } = bindingsFor(
    await templateOf(model, signal, phase),
    phase,
    route.target.context,
  );
  return inSlices(coremlCost({ route, machine, tokens: model.isGraphAlone ? 1 : tokens }), signal);
}

async function onCoreml(request: CostRequest, signal: AbortSignal): Promise<SubjectCost> {
  const { model, subject, phase } = request;
  const route = await routeOf(model, subject.target, phase, signal);
  const { device, verdict } = route.nodes;
  return {
    graph: route.graph,
    cost: await costOfRoute(request, route, signal),
    placement: { device, verdict, verdicts: route.verdicts },
  };
}

async function onEngine(
  { model, subject: { target }, phase, machine, dispatch }: CostRequest,
  backend: OwnBackend,
  signal: AbortSignal,
): Promise<SubjectCost> {
  const { context } = planTarget(model, target, phase);
  const { misses, after } = await engineRecord(model, { backend, phase, context, dispatch }, signal);
  const [first] = misses;
  if (first !== undefined)
    throw new WorkbenchError(
      "UNSUPPORTED_OP",
      `[cost] ${backendTitle(backend)} cannot run ${counted(misses.length, "op")} of this ${model.isGraphAlone ? "graph" : "model"}: ${first.where}, ${first.why}`,
    );
  const cost = await inSlices(engineCost(after, { backend, machine, phase, context }), signal);
  return { graph: after, cost, placement: undefined };
}

type EnginePipeline = Pick<Pipeline, "phase" | "context" | "dispatch"> & { readonly backend: OwnBackend };

/** How the legal graph of an engine came about: in the floats that runs use, with what the engine cannot run of it. */
export async function engineRecord(
  model: OpenModel,
  pipeline: EnginePipeline,
  signal: AbortSignal,
): Promise<StepRecord> {
  const passed = await passRecords(model, { ...pipeline, precision: "f32" }, signal);
  return recordNamed(passed, LEGAL).record;
}

/** Of a graph that is legal for the engine. */
export function engineCost(
  graph: Graph,
  { backend, machine, phase, context }: Omit<EnginePipeline, "dispatch"> & Pick<CostRequest, "machine">,
): Steps<StepCost> {
  const bound = bindingsFor(graph, phase, context);
  // An engine reads more of a prompt at a time than a package has room for.
  const bindings = phase === "decode" || isWholeText(graph) ? bound : { ...bound, [TEMPLATE.tokens]: CHUNK };
  const { held, unit } = ENGINES[backend];
  return graphCost({ graph, bindings, held, machine, unit, tokens: bindings[TEMPLATE.tokens] ?? 1 });
}
