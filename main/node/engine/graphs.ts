/**
 * The graphs of an open model: as it is built, after each pass, and legal for a target; for a phase, which fixes how many tokens
 * a step has. Everything is made once per model and kept until it is closed.
 */
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import type { GraphKey, Stage } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { requireArchitecture } from "../../formats/gguf/architecture.ts";
import { weightSourceOf } from "../../formats/gguf/weightSource.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import { specialize } from "../../ir/specialize.ts";
import { buildModel } from "../../models/buildModel.ts";
import { demoGraph } from "../../models/demo.ts";
import { opTable } from "../../ops/index.ts";
import type { PipelineResult } from "../../passes/pipeline.ts";
import { PASSES, pipelineFor, runPipeline } from "../../passes/pipeline.ts";
import type { OpenModel } from "./openModel.ts";

/** New tokens of a prefill step: the bucket that packages are made for. */
export const PREFILL_BUCKET = 64;

export const stepTokens = (phase: Phase): number => (phase === "decode" ? 1 : PREFILL_BUCKET);

/** Sizes that a phase and a context give to the symbols of a template. */
export const bindingsFor = (phase: Phase, context: number): Bindings => ({
  T: stepTokens(phase),
  R: 1,
  capacity: context,
});

/** The graph as the model's file builds it, symbols open. */
export function templateOf(model: OpenModel): Graph {
  return model.cached("template", () => {
    if (model.kind === "demo-graph") return demoGraph();
    const file = model.requireFile("graph");
    const architecture = requireArchitecture(file);
    return buildModel(architecture, weightSourceOf(file), {
      capacity: "capacity",
      cacheType: "f16",
      largestStep: 512,
      largestRows: 512,
      largestCapacity: architecture.context,
    });
  });
}

/** The template with every symbol bound: what a package's function is made from. */
export function boundGraph(model: OpenModel, phase: Phase, context: number): Graph {
  return model.cached(`bound ${phase} ${context}`, () =>
    specialize(opTable, templateOf(model), bindingsFor(phase, context)),
  );
}

/** Every pass in order over the template: what the pipeline tab shows. */
export function passRecords(model: OpenModel): PipelineResult {
  return model.cached("passes", () => runPipeline(templateOf(model), { passes: PASSES }));
}

/** The general passes over the bound graph: what is legalised for CoreML. */
export function optimizedGraph(model: OpenModel, phase: Phase, context: number): Graph {
  return model.cached(
    `optimized ${phase} ${context}`,
    () => runPipeline(boundGraph(model, phase, context), { passes: pipelineFor("coreml") }).graph,
  );
}

export interface StagedGraph {
  readonly graph: Graph;
  readonly bindings: Bindings;
}

/** The graph of a stage. A pass's index counts the passes that have run. */
export function stagedGraph(
  model: OpenModel,
  key: Pick<GraphKey, "stage" | "phase">,
  legal: (target: TargetSpec, phase: Phase) => Graph,
  context: number,
): StagedGraph {
  const bindings = bindingsFor(key.phase, context);
  const { stage } = key;
  switch (stage.kind) {
    case "initial":
      return { graph: templateOf(model), bindings };
    case "pass":
      return { graph: afterPass(model, stage), bindings };
    case "legal":
      return { graph: legal(stage.target, key.phase), bindings: bindingsFor(key.phase, stage.target.context) };
  }
}

function afterPass(model: OpenModel, stage: Extract<Stage, { readonly kind: "pass" }>): Graph {
  const { records } = passRecords(model);
  if (stage.index === 0) return templateOf(model);
  const record = records[stage.index - 1];
  if (!record)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[graph] pass ${stage.index}: got ${stage.index}, expected 0 to ${records.length}`,
    );
  return record.after;
}
