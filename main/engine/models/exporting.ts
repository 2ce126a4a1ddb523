/** Export of an open model: the request made from its graph and target, the bytes read from its file, the package on disk. */
import type { ExportProgress, ExportReport, ExportRequest } from "../../backends/coreml/export.ts";
import { exportPackage } from "../../backends/coreml/export.ts";
import type { DirectoryWriter } from "../../backends/coreml/package.ts";
import type { ShapeFlexibility } from "../../backends/coreml/flexible.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import type { Pooling } from "../../models/family.ts";
import { embedderGraph } from "../../runtime/embedderModel.ts";
import type { CpuEngine } from "../../backends/cpu/engine.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import { graphHash } from "../../ir/hash.ts";
import { symbolsWithin } from "../../ir/specialize.ts";
import { opTable } from "../../ops/index.ts";
import { withValues } from "../text/subject.ts";
import { bindingsFor, encoderOf, templateOf } from "./graphs.ts";
import { NO_FILE } from "./hybrid.ts";
import type { OpenModel } from "./openModel.ts";
import { requirePaths } from "./openModel.ts";
import { packageRequest, readsFrom, templateVariants, weightWork } from "./packageRequest.ts";
import { inSlices } from "./taskCache.ts";

/** `packageName` is for logs. */
export async function exportRequest(
  model: OpenModel,
  target: PlanTarget,
  signal: AbortSignal,
  flexibility: ShapeFlexibility = "fixed",
  packageName = "the planned package",
  pooling?: Pooling,
): Promise<ExportRequest> {
  if (model.text !== undefined) return textRequest(model, target, signal, flexibility, packageName);
  const { watch, description } = model;
  const graph =
    pooling === undefined
      ? await templateOf(model, signal)
      : embedderGraph(model.requireFile("export"), { pooling, largestText: target.context });
  return packageRequest(graph, target, {
    ...templateVariants(graph, target, flexibility, await encoderOf(model, signal)),
    packageName,
    description: `${description.title} ${description.variant}`,
    source: model.requireFile("export").identity,
    ...(watch === undefined ? {} : { watch }),
  });
}

/** A graph that is no model's: one function, its symbols bound, its parameters as constants. */
async function textRequest(
  model: OpenModel,
  target: PlanTarget,
  signal: AbortSignal,
  flexibility: ShapeFlexibility,
  packageName: string,
): Promise<ExportRequest> {
  const graph = withValues(await templateOf(model, signal));
  const sizes = sizesText(graph, target);
  if (flexibility !== "fixed" && sizes !== "")
    throw new WorkbenchError(
      "UNSUPPORTED_TARGET",
      `[flexible] a graph in text is made for fixed sizes only: ${sizes}`,
      {
        hint: "Unset RLX_COREML_NATIVE_FLEX and RLX_COREML_FLEXIBLE_INPUTS: the context says what sizes a package is for.",
      },
    );
  return packageRequest(graph, target, {
    variants: [{ name: "main", bindings: bindingsFor(graph, "decode", target.context) }],
    ...{ packageName, description: graph.name, source: graphHash(graph) },
    ...(model.watch === undefined ? {} : { watch: model.watch }),
  });
}

/** "N = 8, T = 64"; nothing where the graph has no symbols. */
const sizesText = (graph: Graph, { context }: PlanTarget): string => {
  const used = symbolsWithin(opTable, graph);
  return Object.entries(bindingsFor(graph, "decode", context))
    .flatMap(([symbol, size]) => (used.has(symbol) ? [`${symbol} = ${size}`] : []))
    .join(", ");
};

/** What a package of a text is for, as a sentence to add: nobody has said these sizes. */
export async function boundSentence(model: OpenModel, target: PlanTarget, signal: AbortSignal): Promise<string> {
  const sizes = model.text === undefined ? "" : sizesText(await templateOf(model, signal), target);
  return sizes === "" ? "" : ` Made for ${sizes}: the context, or a smaller limit in the text.`;
}

export interface ExportOptions {
  /** Where the package goes: asked for when everything else is known to be right. */
  readonly directory: () => Promise<DirectoryWriter>;
  /** Undefined where none was built. */
  readonly engine: CpuEngine | undefined;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: ExportProgress) => void;
  readonly flexibility?: ShapeFlexibility;
  /** Vectors of whole texts, made in this way, instead of what the model is itself. */
  readonly pooling?: Pooling;
}

export async function exportModel(model: OpenModel, target: PlanTarget, options: ExportOptions): Promise<ExportReport> {
  const file = model.text === undefined ? model.requireFile("export") : undefined;
  if (file !== undefined) requirePaths(model, "export");
  const request = await exportRequest(
    model,
    target,
    options.signal,
    options.flexibility,
    "the package",
    options.pooling,
  );
  return exportPackage(request, {
    directory: await options.directory(),
    weights: { read: file === undefined ? NO_FILE : readsFrom(file), ...weightWork(options.engine) },
    signal: options.signal,
    inSlices: (steps) => inSlices(steps, options.signal),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
}
