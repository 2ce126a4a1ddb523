/**
 * The graphs of an open model on the way to each backend: as it is built, after each pass, and legal; for a phase, which
 * fixes how many tokens a step has. What is made is kept with the model, the large ones as long as they are among the last.
 */
import type { Compiled } from "../../compiler/compile.ts";
import { compile } from "../../compiler/compile.ts";
import { applyPrecision } from "../../compiler/precision.ts";
import type { DispatchPolicy } from "../../compiler/support.ts";
import { supportsOf } from "../../compiler/support.ts";
import type { Phase } from "../../contract/views/common.ts";
import type { Backend } from "../../contract/views/graph.ts";
import { BUILT, LEGAL } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { CacheType } from "../../models/blocks.ts";
import { dimSymbols } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import { placeOf } from "../../ir/pass.ts";
import type { PrecisionPolicy } from "../../ir/precision.ts";
import { specialize } from "../../ir/specialize.ts";
import type { Steps } from "../../ir/steps.ts";
import { readArchitecture } from "../../models/architecture.ts";
import { demoGraph } from "../../models/demo.ts";
import {
  PREFILL_BUCKET,
  TEMPLATE,
  encoderTemplate,
  isStep,
  isWholeText,
  readsSource,
  template,
} from "../../models/template.ts";
import { opTable } from "../../ops/index.ts";
import type { PassRecord } from "../../passes/pipeline.ts";
import { countOps } from "../../passes/pipeline.ts";
import { graphOfText, withValues } from "../text/subject.ts";
import type { OpenModel } from "./openModel.ts";
import type { TaskKind } from "./taskCache.ts";
import { inSlices, tasksOf } from "./taskCache.ts";

/** New tokens of a step. */
export const stepTokens = (phase: Phase): number => (phase === "decode" ? 1 : PREFILL_BUCKET);

/** Sizes that a phase and a context give to the symbols of a template; a whole text has no phases. */
export function bindingsFor(graph: Graph, phase: Phase, context: number): Bindings {
  if (isWholeText(graph)) return { [TEMPLATE.tokens]: context };
  if (!isStep(graph)) return sizesOf(graph, context);
  return {
    [TEMPLATE.tokens]: stepTokens(phase),
    [TEMPLATE.rows]: 1,
    [TEMPLATE.capacity]: context,
    [TEMPLATE.ring]: Math.min(context, ringRowsOf(graph)),
    ...(readsSource(graph) && { [TEMPLATE.source]: context }),
  };
}

/** Rows of the rings of a model's step; the layers of one see as much. */
const ringRowsOf = ({ symbolLimits }: Graph): number => symbolLimits[TEMPLATE.ring] ?? 0;

/** Every symbol of a graph that is no model's: as large as its limit lets it be, and the context. */
function sizesOf({ nodes, symbolLimits }: Graph, context: number): Bindings {
  const leaves = nodes.filter(({ op }) => op === "input" || op === "state");
  const symbols = leaves.flatMap(({ outputs: [type] }) => type?.shape.flatMap(dimSymbols) ?? []);
  return Object.fromEntries(
    [...new Set([...symbols, ...Object.keys(symbolLimits)])].map((symbol) => [
      symbol,
      Math.min(symbolLimits[symbol] ?? context, context),
    ]),
  );
}

/** How a graph keeps keys and values: as a package does, or one of our own engines. */
interface Kept {
  readonly cacheType: CacheType;
  readonly rings: boolean;
}

/** The graph as the model's file builds it, symbols open. The prefill of an encoder-decoder is its encoder's. */
function* builtGraph(model: OpenModel, kept: Kept, phase: Phase): Steps<Graph> {
  if (model.kind === "demo-graph") return demoGraph();
  if (model.text !== undefined) return graphOfText(model.text);
  const file = model.requireFile("graph");
  const encoder = phase === "prefill" ? encoderTemplate(file) : undefined;
  return yield* encoder ?? template(file, kept);
}

const PACKAGED: Kept = { cacheType: "f16", rings: false };
const UNTYPED: TaskKind<Graph> = { name: "template", keep: 2 };

/** What tells graphs of one model apart: the phase, where its encoder reads prompts. */
function graphKey({ file }: OpenModel, phase: Phase): string {
  const reading = file && readArchitecture(file);
  if (reading?.kind !== "known" || reading.architecture.kind !== "decoder") return "";
  return reading.architecture.encoder === undefined ? "" : phase;
}

export const templateOf = (model: OpenModel, signal: AbortSignal, phase: Phase = "decode"): Promise<Graph> =>
  tasksOf(model).get(UNTYPED, graphKey(model, phase), signal, (own) =>
    inSlices(builtGraph(model, PACKAGED, phase), own),
  );

/** The graph of the encoder that reads prompts, for models that have one. */
export const encoderOf = async (model: OpenModel, signal: AbortSignal): Promise<Graph | undefined> =>
  graphKey(model, "prefill") === "" ? undefined : templateOf(model, signal, "prefill");

const RINGED: TaskKind<Graph> = { name: "template with rings", keep: 1 };

/** True for a model with layers that see only the newest positions. */
function isLocal({ file }: OpenModel): boolean {
  const reading = file && readArchitecture(file);
  if (reading?.kind !== "known" || reading.architecture.kind !== "decoder") return false;
  return reading.architecture.cache.local !== undefined;
}

/** As the CPU engine's decoders are built. */
const cpuTemplateOf = (model: OpenModel, signal: AbortSignal, phase: Phase): Promise<Graph> =>
  model.rings && isLocal(model)
    ? tasksOf(model).get(RINGED, graphKey(model, phase), signal, (own) =>
        inSlices(builtGraph(model, { cacheType: "f16", rings: true }, phase), own),
      )
    : templateOf(model, signal, phase);

const TYPED: TaskKind<Graph> = { name: "typed", keep: 1 };

/** The same, computed in other floats. */
const typedTemplate = (model: OpenModel, { precision, phase }: Pipeline, signal: AbortSignal): Promise<Graph> =>
  precision === "f32"
    ? cpuTemplateOf(model, signal, phase)
    : tasksOf(model).get(TYPED, `${precision} ${graphKey(model, phase)}`, signal, async (own) =>
        inSlices(applyPrecision(await cpuTemplateOf(model, own, phase), precision), own),
      );

const MLX_BUILT: TaskKind<Graph> = { name: "template for MLX", keep: 1 };

/** As MLX's decoders are built: caches in f32. */
export const mlxTemplateOf = (model: OpenModel, signal: AbortSignal, phase: Phase = "decode"): Promise<Graph> =>
  tasksOf(model).get(MLX_BUILT, graphKey(model, phase), signal, (own) =>
    inSlices(builtGraph(model, { cacheType: "f32", rings: model.rings }, phase), own),
  );

/** A pipeline: backend, sizes and precision. */
export interface Pipeline {
  readonly backend: Backend;
  readonly phase: Phase;
  /** Core ML's graphs have their sizes fixed. */
  readonly context: number;
  readonly precision: PrecisionPolicy;
  /** Of the session. Core ML's graphs are always made from native rules where there are any. */
  readonly dispatch: DispatchPolicy;
}

function pipelineKey(model: OpenModel, { backend, phase, context, precision }: Pipeline): string {
  if (backend === "coreml") return `${backend} ${phase} ${context}`;
  return `${backend} ${backend === "cpu" ? precision : ""} ${graphKey(model, phase)}`;
}

const BOUND: TaskKind<Graph> = { name: "bound", keep: 1 };
const PASSED: TaskKind<Passed> = { name: "passes", keep: 1 };
const LEGAL_FOR_TARGET: TaskKind<Compiled> = { name: "legal", keep: 4 };

/** What a backend's first pass is given. */
async function sourceOf(model: OpenModel, pipeline: Pipeline, signal: AbortSignal): Promise<Graph> {
  const { backend, phase, context } = pipeline;
  switch (backend) {
    case "cpu":
      return typedTemplate(model, pipeline, signal);
    case "mlx":
      return mlxTemplateOf(model, signal, phase);
    case "coreml":
      return tasksOf(model).get(BOUND, pipelineKey(model, pipeline), signal, async (own) => {
        const graph = await coremlSource(model, phase, own);
        return inSlices(specialize(opTable, graph, bindingsFor(graph, phase, context)), own);
      });
  }
}

/** A pass that has run, or legalisation at the end; `mark` is what it writes on nodes. */
export interface StepRecord extends PassRecord {
  readonly mark: string;
}
interface Passed {
  readonly records: readonly StepRecord[];
}

function recordsOf(
  { backend, optimised: before, graph: after, blocked, records, milliseconds }: Compiled,
  dispatch: DispatchPolicy,
): Passed {
  const supports = supportsOf(backend, dispatch);
  const taken = before.nodes.filter((node) => !isLeaf(node) && supports(before, node).state === "decomposed");
  const legal: StepRecord = {
    name: LEGAL,
    mark: `legalise for ${backend}`,
    reason: "Last: what the backend has no rule for becomes its parts, and what is left without one is named.",
    changed: after !== before,
    nodesBefore: before.nodes.length,
    nodesAfter: after.nodes.length,
    opsBefore: countOps(before),
    opsAfter: countOps(after),
    milliseconds,
    hits: taken.length,
    misses: [...blocked].flatMap(([id, why]) => {
      const node = after.nodes[id];
      return node ? [{ node: id, where: placeOf(node), why }] : [];
    }),
    before,
    after,
  };
  return { records: [...records.map((record) => ({ ...record, mark: record.name })), legal] };
}

/** Every pass of a backend in order, and legalisation: what the pipeline tab shows. */
export const passRecords = (model: OpenModel, pipeline: Pipeline, signal: AbortSignal): Promise<Passed> =>
  tasksOf(model).get(PASSED, pipelineKey(model, pipeline), signal, async (own) => {
    const { backend, dispatch } = pipeline;
    const source = await sourceOf(model, pipeline, own);
    return recordsOf(await inSlices(compile(source, { backend, dispatch, blocked: "keep" }), own), dispatch);
  });

/** A pass by its name, with the one before it. */
export function recordNamed(
  { records }: Passed,
  name: string,
): { readonly record: StepRecord; readonly previous: string | undefined } {
  const at = records.findIndex((record) => record.name === name);
  const record = records[at];
  if (record) return { record, previous: records[at - 1]?.name };
  const names = records.map((each) => each.name).join(", ");
  throw new WorkbenchError("INPUT_ARGUMENT", `[graph] pass: got ${name}, expected one of ${names}`);
}

/** The graph that Core ML can run node by node: every symbol bound, the general passes, what has no rule taken apart. */
export const legalFor = (model: OpenModel, phase: Phase, context: number, signal: AbortSignal): Promise<Compiled> =>
  tasksOf(model).get(LEGAL_FOR_TARGET, `${phase} ${context}`, signal, async (own) => {
    const graph = await coremlSource(model, phase, own);
    return inSlices(
      compile(graph, {
        ...model.watch,
        backend: "coreml",
        bindings: bindingsFor(graph, phase, context),
        blocked: "keep",
        what: `${phase} with a context of ${context}`,
      }),
      own,
    );
  });

/** As Core ML is given it: a package holds the values of parameters. */
async function coremlSource(model: OpenModel, phase: Phase, signal: AbortSignal): Promise<Graph> {
  const graph = await templateOf(model, signal, phase);
  return model.text === undefined ? graph : model.cached("with values", () => withValues(graph));
}

export interface StagedGraph {
  readonly graph: Graph;
  readonly bindings: Bindings;
}

/** The graph of a step: as built, after a pass, or legal. */
export async function stagedGraph(
  model: OpenModel,
  step: string,
  pipeline: Pipeline,
  signal: AbortSignal,
): Promise<StagedGraph> {
  const { backend, phase, context } = pipeline;
  // Core ML's source has no symbols left.
  const open = backend === "coreml" ? templateOf(model, signal, phase) : sourceOf(model, pipeline, signal);
  const bindings = bindingsFor(await open, phase, context);
  if (step === BUILT) return { graph: await sourceOf(model, pipeline, signal), bindings };
  // The graph that routes speak about is made without keeping what led there.
  if (step === LEGAL && backend === "coreml")
    return { graph: (await legalFor(model, phase, context, signal)).graph, bindings };
  return { graph: recordNamed(await passRecords(model, pipeline, signal), step).record.after, bindings };
}
