/** What the workbench says of a model on a runtime and a target, for programs: advice, the steps of its pipeline, its picture. */
import { cpus, platform, totalmem } from "node:os";
import { machineFor } from "../../compiler/cost/machines.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import { LEGAL, OVERLAYS, RUNTIMES, stageOn } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { adviceView, findAdvice } from "../../engine/advice/advise.ts";
import { ADVICE_RULES } from "../../engine/advice/rules.ts";
import { adviceSubject } from "../../engine/advice/subject.ts";
import { costAccess, costOfRoute } from "../../engine/models/costs.ts";
import { bindingsFor, stagedGraph } from "../../engine/models/graphs.ts";
import { OpenModel } from "../../engine/models/openModel.ts";
import type { StepsAsked } from "../../engine/models/pipelineSteps.ts";
import { numbersOf, stepsOf } from "../../engine/models/pipelineSteps.ts";
import { planTarget, routeOf } from "../../engine/models/routes.ts";
import { stepDone } from "../../engine/models/stepDetails.ts";
import { inSlices } from "../../engine/models/taskCache.ts";
import { graphView } from "../../engine/views/graphView.ts";
import { routeView } from "../../engine/views/routeView.ts";
import { heldFor } from "../../backends/coreml/levers.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import { heldByMlx } from "../../backends/mlx/weightForms.ts";
import type { StableBackend } from "../../ops/defineOp.ts";
import { opTable } from "../../ops/index.ts";
import { graphSvg as drawGraph } from "../../../renderer/drawing/graphSvg.ts";
import { THREADS } from "./addon.ts";
import type { Model } from "./model.ts";

/** Runtime, target and phase that something is said for. */
export interface SubjectOptions {
  /** "coreml" by default. */
  readonly backend?: StableBackend;
  /** "decode" by default: one token. "prefill": a chunk of the prompt. */
  readonly phase?: "decode" | "prefill";
  /** "m4" by default; a family ("m2") or a variant of one ("m4-pro"). */
  readonly chip?: string;
  readonly os?: string;
  /** Of Core ML: "cpu-ane" by default. */
  readonly units?: "cpu-ane" | "cpu-gpu" | "all" | "cpu";
  /** How a Core ML package holds weights; "auto" by default. */
  readonly profile?: "auto" | "gpu" | "ane" | "exact" | "f32";
  readonly context?: number;
  readonly signal?: AbortSignal;
}

export interface AdviseOptions extends SubjectOptions {
  /** That a run would have; as many as the machine can run by default. */
  readonly threads?: number;
}

/** A change that would make a step faster: predicted, not measured. */
export interface ModelAdvice {
  readonly rule: string;
  readonly title: string;
  /** Why, with numbers. */
  readonly claim: string;
  /** Of one step. */
  readonly secondsBefore: number;
  readonly secondsAfter: number;
  /** What it costs, and what may go wrong. */
  readonly risk: string;
  /** Flags of the command line for it; null where it is another file. */
  readonly flags: string | null;
  /** Nodes of the legal graph that it is about. */
  readonly ops: readonly number[];
}

/** A step on the way to what the runtime is given, and what a program would be worth that ended the shortest way from there. */
export interface ModelStep {
  readonly name: string;
  /** What its ops are: "ops", "MIL operations", "instructions", "calls". */
  readonly counts: string;
  /** null: the runtime cannot run all of it. */
  readonly ops: number | null;
  /** null where there is one device. */
  readonly hops: number | null;
  readonly aneShare: number | null;
  readonly seconds: number;
  /** What it did; "" of a pass. */
  readonly says: string;
}

export interface GraphSvgOptions extends SubjectOptions {
  /** "device" by default. */
  readonly by?: "device" | "segment" | "bytes" | "type";
  readonly theme?: "light" | "dark";
  /** Every group open, instead of blocks in stacks. */
  readonly expand?: boolean;
}

const NEVER = new AbortController().signal;
const CONTEXT = 4096;
const opened = new WeakMap<Model, OpenModel>();

/** As the engine has it, for as long as the model is there: graphs and routes are made once. */
function openOf(model: Model): OpenModel {
  const known = opened.get(model);
  if (known !== undefined) return known;
  const data = { kind: "paths", paths: model.paths } as const;
  const own = {
    kind: "model",
    file: model.file,
    data,
    offer: undefined,
    argument: model.path,
    openedInSeconds: 0,
  } as const;
  const made = new OpenModel("library", own);
  opened.set(model, made);
  return made;
}

function targetOf({
  chip = "m4",
  os = "macos15",
  units = "cpu-ane",
  profile = "auto",
  context = CONTEXT,
}: SubjectOptions): TargetSpec {
  if (Number.isSafeInteger(context) && context > 0) return { chip, os, units, profile, context };
  throw new WorkbenchError("INPUT_ARGUMENT", `[target] context: got ${context}, expected a whole number from 1`);
}

function subjectOf(options: SubjectOptions): StepsAsked {
  const { backend = RUNTIMES.coreml, phase = "decode" } = options;
  const target = targetOf(options);
  return { backend, phase, target, dispatch: "prefer-native", machine: machineOf(target) };
}

function machineOf(target: Pick<TargetSpec, "chip">): StepsAsked["machine"] {
  const [first] = cpus();
  const here = { chip: first?.model ?? "", cores: cpus().length, totalBytes: totalmem() };
  return machineFor(target, { platform: platform(), ...here });
}

/** What would make a model faster on a runtime and a target, the largest gain first: what `rlx advise` lists. */
export async function advise(model: Model, options: AdviseOptions = {}): Promise<readonly ModelAdvice[]> {
  const { threads = THREADS, signal = NEVER } = options;
  const { backend, target, phase, dispatch } = subjectOf(options);
  const open = openOf(model);
  const costs = costAccess({ dispatch, machineOf: (of) => Promise.resolve(machineOf(of)) });
  const subject = adviceSubject(
    { costs, threads },
    { model: open, backend, target, phase, fastCores: undefined },
    signal,
  );
  const found = await findAdvice(subject, ADVICE_RULES, signal);
  const context = { canMeasure: () => ({ ok: true }) as const, verdict: null, route: undefined };
  return found.map((one) => {
    const { rule, title, claim, before, after, risk, flags, ops } = adviceView(subject, one, context);
    return { rule, title, claim, secondsBefore: before.value, secondsAfter: after.value, risk, flags, ops };
  });
}

/** The way of a model's graph to what a runtime is given: what `rlx passes --steps` shows. */
export async function pipelineSteps(model: Model, options: SubjectOptions = {}): Promise<readonly ModelStep[]> {
  const { signal = NEVER } = options;
  const asked = subjectOf(options);
  const open = openOf(model);
  const steps: ModelStep[] = [];
  for (const step of await stepsOf(open, asked, signal)) {
    const { hops, aneShare, seconds } = await numbersOf(open, asked, step, signal);
    const { ops, says } = await stepDone(open, asked, step, signal);
    steps.push({ name: step.name, counts: step.counts, ops, hops, aneShare, seconds, says });
  }
  return steps;
}

/** The picture of a model's legal graph that the window saves, as SVG: what `rlx graph --svg` writes. */
export async function graphSvg(model: Model, options: GraphSvgOptions = {}): Promise<string> {
  const { by = "device", theme = "light", expand = false, signal = NEVER } = options;
  const mode = OVERLAYS.find((each) => each === by) ?? "device";
  const { backend, target, phase, dispatch, machine } = subjectOf(options);
  const open = openOf(model);
  const plan = planTarget(open, target, phase);
  const { context } = plan;
  const pipeline = { backend, phase, context, precision: "f32", dispatch } as const;
  const { graph } = await stagedGraph(open, LEGAL, pipeline, signal);
  const held = backend === RUNTIMES.coreml ? heldFor(plan) : backend === "mlx" ? heldByMlx : heldAsStored;
  const key = { model: open.id, stage: stageOn(backend, LEGAL, target), phase };
  const bindings = bindingsFor(graph, phase, context);
  const view = await inSlices(graphView({ key, graph, table: opTable, bindings, held }), signal);
  const shown = { view, overlay: null, mode, theme, expand };
  if (backend !== "coreml") return drawGraph({ ...shown, route: null });
  const route = await routeOf(open, target, phase, signal);
  const cost = await costOfRoute({ model: open, phase, machine }, route, signal);
  return drawGraph({ ...shown, route: routeView({ model: open.id, route, cost, machine, target, phase }) });
}
