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
import type { Bindings } from "../../ir/dim.ts";
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

export interface RequestOptions {
  readonly flexibility?: ShapeFlexibility | undefined;
  /** For logs. */
  readonly packageName?: string;
  readonly pooling?: Pooling | undefined;
  /** Sizes of symbols of a graph in text. */
  readonly symbols?: Bindings | undefined;
}

export async function exportRequest(
  model: OpenModel,
  target: PlanTarget,
  signal: AbortSignal,
  options: RequestOptions = {},
): Promise<ExportRequest> {
  if (model.text !== undefined) return textRequest(model, target, signal, options);
  const { flexibility = "fixed", packageName = "the planned package", pooling, symbols = {} } = options;
  const [unused] = Object.keys(symbols);
  if (unused !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[export] symbol: got ${unused}, expected a graph in text`, {
      hint: "The context is the size of a model's package.",
    });
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
  { flexibility = "fixed", packageName = "the planned package", symbols = {} }: RequestOptions,
): Promise<ExportRequest> {
  const graph = withValues(await templateOf(model, signal));
  const bindings = { ...bindingsFor(graph, "decode", target.context), ...symbols };
  const used = symbolsWithin(opTable, graph);
  const unused = Object.keys(symbols).find((symbol) => !used.has(symbol));
  if (unused !== undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[export] symbol: got ${unused}, expected ${used.size === 0 ? "none: the graph has no symbols" : [...used].join(", ")}`,
      { hint: "Name a symbol of the graph." },
    );
  const sizes = sizesText(used, bindings);
  if (flexibility !== "fixed" && sizes !== "")
    throw new WorkbenchError(
      "UNSUPPORTED_TARGET",
      `[flexible] a graph in text is made for fixed sizes only: ${sizes}`,
      {
        hint: "Unset RLX_COREML_NATIVE_FLEX and RLX_COREML_FLEXIBLE_INPUTS: --symbol N=8 says what size a package is for.",
      },
    );
  return packageRequest(graph, target, {
    variants: [{ name: "main", bindings }],
    ...{ packageName, description: graph.name, source: graphHash(graph) },
    ...(model.watch === undefined ? {} : { watch: model.watch }),
  });
}

/** "N = 8, T = 64" */
const sizesText = (used: ReadonlySet<string>, bindings: Bindings): string =>
  [...used].map((symbol) => `${symbol} = ${bindings[symbol] ?? ""}`).join(", ");

/** What a package of a text is for, as a sentence to add, and which sizes come from the context. */
export async function boundSentence(
  model: OpenModel,
  target: PlanTarget,
  symbols: Bindings,
  signal: AbortSignal,
): Promise<string> {
  if (model.text === undefined) return "";
  const graph = await templateOf(model, signal);
  const used = symbolsWithin(opTable, graph);
  if (used.size === 0) return "";
  const unsaid = [...used].filter((symbol) => symbols[symbol] === undefined);
  const from = unsaid.length === 0 ? "" : `; ${unsaid.join(", ")} from the context, or a smaller limit in the text`;
  return ` Made for ${sizesText(used, { ...bindingsFor(graph, "decode", target.context), ...symbols })}${from}.`;
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
  /** Sizes of symbols of a graph in text. */
  readonly symbols?: Bindings | undefined;
}

export async function exportModel(model: OpenModel, target: PlanTarget, options: ExportOptions): Promise<ExportReport> {
  const file = model.text === undefined ? model.requireFile("export") : undefined;
  if (file !== undefined) requirePaths(model, "export");
  const { flexibility, pooling, symbols } = options;
  const asked = { flexibility, pooling, symbols, packageName: "the package" };
  const request = await exportRequest(model, target, options.signal, asked);
  return exportPackage(request, {
    directory: await options.directory(),
    weights: { read: file === undefined ? NO_FILE : readsFrom(file), ...weightWork(options.engine) },
    signal: options.signal,
    inSlices: (steps) => inSlices(steps, options.signal),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
}
