/** Predicted seconds of a subject, and the verdict: how fast a model would be on each target. */
import { sumOf } from "../../compiler/cost/seconds.ts";
import { deviceSeconds } from "../../compiler/cost/stepCost.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import type { Phase } from "../../contract/views/common.ts";
import type { CostView, Subject, Verdict, VerdictRow } from "../../contract/views/cost.ts";
import { LEGAL, stageOn } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { EngineDevices } from "../devices.ts";
import { secondsFigure, shareOf } from "../measure/costFigures.ts";
import { fitForecast } from "../measure/forecast.ts";
import { modelShape } from "../measure/shape.ts";
import { speedOf } from "../measure/speed.ts";
import { subjectTitle } from "../measure/subjectWords.ts";
import { heaviestOps, stepSentence, verdictSentence } from "../measure/verdict.ts";
import type { CacheType } from "../../models/blocks.ts";
import type { CostAccess, CostRequest } from "../models/costs.ts";
import { costOf, enginesOf, runnerOf } from "../models/costs.ts";
import { templateOf } from "../models/graphs.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { planTarget } from "../models/routes.ts";
import type { TaskKind } from "../models/taskCache.ts";
import { tasksOf } from "../models/taskCache.ts";
import { isWholeText } from "../../models/template.ts";

const VERDICT: TaskKind<Verdict> = { name: "verdict", keep: 16 };
/** Ops that a cost names. */
const HEAVIEST = 12;
const UNITS = ["cpu-ane", "all", "cpu-gpu", "cpu"] as const;
const DEVICES = ["ane", "gpu", "cpu", "host"] as const;

export interface CostParts {
  readonly store: Pick<ModelStore, "get">;
  readonly devices: EngineDevices;
  readonly costs: CostAccess;
}

export function costHandlers(parts: CostParts): Pick<EngineHandlers["calls"], "cost.get" | "verdict.get"> {
  const { store, devices, costs } = parts;
  const { dispatch, machineOf } = costs;
  return {
    "cost.get": async ({ model, subject, phase }, { signal }) => {
      const machine = await machineOf(subject.target);
      return costView({ model: store.get(model), subject, phase, machine, dispatch }, signal);
    },
    "verdict.get": async ({ model, subject, rows, cacheType }, { signal }) => {
      const machine = await machineOf(subject.target);
      const open = store.get(model);
      return tasksOf(open).get(VERDICT, JSON.stringify([subject, machine, rows, cacheType]), signal, (own) =>
        verdictOf({ model: open, subject, machine, devices, dispatch, cacheType }, rows === "all", own),
      );
    },
  };
}

async function costView(request: CostRequest, signal: AbortSignal): Promise<CostView> {
  const { model, subject, phase, machine } = request;
  const made = await costOf(request, signal);
  const { cost } = made;
  const { nodes } = cost;
  const hops = sumOf(cost.hops);
  const devices = DEVICES.flatMap((device): CostView["devices"] => {
    if (!cost.segments.some((segment) => segment.device === device)) return [];
    const seconds = deviceSeconds(cost, device);
    return [
      { device, seconds: secondsFigure(seconds, "its segments, and starting them"), share: shareOf(seconds, cost) },
    ];
  });
  return {
    key: { model: model.id, stage: stageOn(subject.backend, LEGAL, subject.target), phase },
    subject,
    phase,
    truth: "predicted",
    machine: machine.title,
    tokens: cost.tokens,
    nodes: {
      seconds: Float32Array.from(nodes.value),
      low: Float32Array.from(nodes.low),
      high: Float32Array.from(nodes.high),
    },
    devices,
    caches: secondsFigure(cost.caches, "caches read and written once, if Core ML copies them"),
    hops: secondsFigure(hops, "a constant for handing over, and the bytes"),
    overhead: secondsFigure(cost.overhead, "starting segments or ops, and handing over"),
    step: secondsFigure(cost.step, "devices, hops and copied caches together"),
    heaviest: [...heaviestOps(made, HEAVIEST)],
    sentence: stepSentence({ subject, machine, made, words: stepWords(model, phase, cost.tokens) }),
  };
}

/** What one step is, for the line that tells its time. */
function stepWords(model: OpenModel, phase: Phase, tokens: number): string {
  if (model.isGraphAlone) return "run";
  if (!writesText(model)) return "text";
  if (phase === "decode") return "token";
  return `chunk of ${tokens} ${tokens === 1 ? "token" : "tokens"}, prefill`;
}

interface VerdictRequest extends Omit<CostRequest, "phase"> {
  readonly devices: EngineDevices;
  readonly cacheType: CacheType | null | undefined;
}

/** The chosen target first asked for, then the others: other units, and our own engines. */
function subjectsOf({ subject, devices }: VerdictRequest): readonly Subject[] {
  const { backend, target } = subject;
  const onCoreml = UNITS.map((units): Subject => {
    const same = backend === "coreml" && units === target.units;
    return same ? subject : { backend: "coreml", target: { ...target, units, profile: "auto" } };
  });
  const onEngines = enginesOf(devices).map((own): Subject => (backend === own ? subject : { backend: own, target }));
  return [...onCoreml, ...onEngines];
}

async function verdictOf(request: VerdictRequest, all: boolean, signal: AbortSignal): Promise<Verdict> {
  const { row: own, sentence } = await rowOf(request, signal);
  const rows: VerdictRow[] = [];
  if (all)
    for (const subject of subjectsOf(request))
      rows.push(subject === request.subject ? own : (await rowOf({ ...request, subject }, signal)).row);
  return { sentence, truth: "predicted", own, rows };
}

interface Judged {
  readonly row: VerdictRow;
  readonly sentence: string;
}

/** A target that has no prediction says why; the others have theirs. */
async function rowOf(request: VerdictRequest, signal: AbortSignal): Promise<Judged> {
  try {
    return await judged(request, signal);
  } catch (error) {
    if (!(error instanceof WorkbenchError) || error.code === "CANCELLED" || error.code.startsWith("BUG_")) throw error;
    const { subject } = request;
    const sentence = error.message.replace(/^\[[^\]]*\] /u, "");
    return { row: { ok: false, subject, title: subjectTitle(subject), sentence }, sentence };
  }
}

async function judged(request: VerdictRequest, signal: AbortSignal): Promise<Judged> {
  const { model, subject, machine } = request;
  const isAlone = model.isGraphAlone;
  const decode = await costOf({ ...request, phase: "decode" }, signal);
  const wholeText = !isAlone && isWholeText(await templateOf(model, signal, "prefill"));
  const prefill = isAlone ? undefined : await costOf({ ...request, phase: "prefill" }, signal);
  const writes = writesText(model);
  const context = model.file === undefined ? undefined : (model.description.context ?? undefined);
  const speed = speedOf({ machine, decode: decode.cost, prefill: prefill?.cost, writes, wholeText, context });
  const step = isAlone ? "run" : writes ? "token" : "text";
  const usesAne =
    subject.backend === "coreml" && (subject.target.units === "cpu-ane" || subject.target.units === "all");
  const row: VerdictRow = {
    ok: true,
    subject,
    title: subjectTitle(subject),
    speed,
    fit: fitOf(request),
    aneShare: usesAne ? shareOf(deviceSeconds(decode.cost, "ane"), decode.cost) : null,
    gpuShare: usesGpu(subject) ? shareOf(deviceSeconds(decode.cost, "gpu"), decode.cost) : null,
    hops: decode.cost.hops.length,
  };
  return { row, sentence: verdictSentence({ subject, machine, decode, speed, step }) };
}

const usesGpu = ({ backend, target: { units } }: Subject): boolean =>
  backend === "mlx" || (backend === "coreml" && (units === "all" || units === "cpu-gpu"));

function writesText(model: OpenModel): boolean {
  if (model.isGraphAlone) return false;
  const { architecture } = model.description;
  return architecture.kind === "known" && architecture.architecture.kind === "decoder";
}

function fitOf({
  model,
  subject,
  machine,
  devices,
  cacheType,
}: VerdictRequest): Extract<VerdictRow, { ok: true }>["fit"] {
  const { file } = model;
  if (file === undefined || model.description.architecture.kind !== "known") return null;
  const runner = runnerOf(subject, devices, cacheType);
  const { architecture } = model.description.architecture;
  const shape = modelShape(file, architecture, runner.held);
  const { context } = planTarget(model, subject.target, "decode");
  return fitForecast({ shape, runner, machine, context }, model.description.context ?? null);
}
