/**
 * The graphs of an open model: as it is built, after each pass, and legal for a target; for a phase, which fixes how many tokens
 * a step has. What is made is kept with the model, the large ones as long as they are among the last.
 */
import type { Legalised } from "../../compiler/legalise.ts";
import type { PrecisionPolicy } from "../../ir/precision.ts";
import { applyPrecisionInSteps } from "../../compiler/precision.ts";
import { legalInSteps } from "../../compiler/prepare.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { GraphKey, Stage } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import { specializeInSteps } from "../../ir/specialize.ts";
import type { Steps } from "../../ir/steps.ts";
import { demoGraph } from "../../models/demo.ts";
import { PREFILL_BUCKET, TEMPLATE, template } from "../../models/template.ts";
import { opTable } from "../../ops/index.ts";
import type { PipelineResult } from "../../passes/pipeline.ts";
import { PASSES, runPipelineInSteps } from "../../passes/pipeline.ts";
import type { OpenModel } from "./openModel.ts";
import type { Kind } from "./works.ts";
import { inSlices, worksOf } from "./works.ts";

/** New tokens of a step. */
export const stepTokens = (phase: Phase): number => (phase === "decode" ? 1 : PREFILL_BUCKET);

/** Sizes that a phase and a context give to the symbols of a template. */
export const bindingsFor = (phase: Phase, context: number): Bindings => ({
  [TEMPLATE.tokens]: stepTokens(phase),
  [TEMPLATE.rows]: 1,
  [TEMPLATE.capacity]: context,
});

/** The graph as the model's file builds it, symbols open; with the type that keys and values are kept in. */
export function* builtGraph(model: OpenModel, cacheType: "f16" | "f32"): Steps<Graph> {
  if (model.kind === "demo-graph") return demoGraph();
  return yield* template(model.requireFile("graph"), { cacheType });
}

const BUILT: Kind<Graph> = { name: "template", keep: 1 };

export const templateOf = (model: OpenModel, signal: AbortSignal): Promise<Graph> =>
  worksOf(model).get(BUILT, "", signal, (own) => inSlices(builtGraph(model, "f16"), own));

const TYPED: Kind<Graph> = { name: "typed", keep: 1 };

/** The same, computed in other floats. */
const typedTemplate = (model: OpenModel, precision: PrecisionPolicy, signal: AbortSignal): Promise<Graph> =>
  precision === "f32"
    ? templateOf(model, signal)
    : worksOf(model).get(TYPED, precision, signal, async (own) =>
        inSlices(applyPrecisionInSteps(await templateOf(model, own), precision), own),
      );

const PASS_RECORDS: Kind<PipelineResult> = { name: "passes", keep: 1 };
const LEGAL: Kind<Legalised> = { name: "legal", keep: 4 };

/** Every pass in order over the template: what the pipeline tab shows. */
export const passRecords = (
  model: OpenModel,
  signal: AbortSignal,
  precision: PrecisionPolicy = "f32",
): Promise<PipelineResult> =>
  worksOf(model).get(PASS_RECORDS, precision, signal, async (own) =>
    inSlices(runPipelineInSteps(await typedTemplate(model, precision, own), { passes: PASSES }), own),
  );

/** The graph that Core ML can run node by node: every symbol bound, the general passes, what has no rule taken apart. */
export const legalFor = (model: OpenModel, phase: Phase, context: number, signal: AbortSignal): Promise<Legalised> =>
  worksOf(model).get(LEGAL, `${phase} ${context}`, signal, async (own) =>
    inSlices(boundLegalInSteps(model, await templateOf(model, own), phase, context), own),
  );

function* boundLegalInSteps(model: OpenModel, template: Graph, phase: Phase, context: number): Steps<Legalised> {
  const bound = yield* specializeInSteps(opTable, template, bindingsFor(phase, context));
  return yield* legalInSteps(bound, "coreml", {
    ...model.watch,
    what: `${phase} with a context of ${context}`,
  });
}

export interface StagedGraph {
  readonly graph: Graph;
  readonly bindings: Bindings;
}

/** The graph of a stage. A pass's index counts the passes that have run. */
export async function stagedGraph(
  model: OpenModel,
  key: Pick<GraphKey, "stage" | "phase">,
  legal: (target: TargetSpec, phase: Phase) => Promise<Graph>,
  context: number,
  signal: AbortSignal,
): Promise<StagedGraph> {
  const bindings = bindingsFor(key.phase, context);
  const { stage } = key;
  switch (stage.kind) {
    case "initial":
      return { graph: await typedTemplate(model, stage.precision ?? "f32", signal), bindings };
    case "pass":
      return { graph: await afterPass(model, stage, signal), bindings };
    case "legal":
      return { graph: await legal(stage.target, key.phase), bindings: bindingsFor(key.phase, stage.target.context) };
  }
}

async function afterPass(
  model: OpenModel,
  stage: Extract<Stage, { readonly kind: "pass" }>,
  signal: AbortSignal,
): Promise<Graph> {
  const { precision = "f32" } = stage;
  if (stage.index === 0) return typedTemplate(model, precision, signal);
  const { records } = await passRecords(model, signal, precision);
  const record = records[stage.index - 1];
  if (!record)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[graph] pass ${stage.index}: got ${stage.index}, expected 0 to ${records.length}`,
    );
  return record.after;
}
