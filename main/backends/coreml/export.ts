/**
 * Export of a graph as a `.mlpackage`: every phase a function, weights shared, streamed in the form of the target's profile,
 * the whole put in place at the end or not at all. The report says how each weight was mapped and what that cost.
 */
import { invariant, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import type { OpTable } from "../../ir/opTable.ts";
import { isRewind } from "../../ir/rewind.ts";
import { specialize } from "../../ir/specialize.ts";
import { finish } from "../../ir/steps.ts";
import type { Steps } from "../../ir/steps.ts";
import type { FeatureBinding, LoweredProgram } from "./lowering/lower.ts";
import type { FunctionSource } from "./lowering/source.ts";
import { lowerProgram } from "./lowering/lower.ts";
import type { Part } from "./hybrid/partition.ts";
import { isWhole, partition } from "./hybrid/partition.ts";
import type { EntryOf } from "./hybrid/loweredGraph.ts";
import { rulesFrom, supportFrom } from "./hybrid/loweredGraph.ts";
import { leversOf } from "./levers.ts";
import type { MergeOptions } from "./flexible.ts";
import { isRefusal, mergeSizes } from "./flexible.ts";
import type { ModelMetadata } from "./features.ts";
import type { DirectoryWriter, PackageContents } from "./package.ts";
import { modelBytes, writePackage } from "./package.ts";
import type { PlanTarget } from "./plan/target.ts";
import { systemOf, targetTitle } from "./plan/target.ts";
import { bitsPerWeight, formText } from "./weights/forms.ts";
import { fileBytes } from "./weights/plan.ts";
import type { PlannedWeight, SmallParts } from "./weights/plan.ts";
import { elementCount, isMilDtype, packedByteLength } from "./mil/types.ts";
import type { Variant } from "./variants.ts";
import type { WeightBytes, WeightReport } from "./weights/write.ts";
import { readSmallParts, writeWeights } from "./weights/write.ts";

export interface ExportRequest {
  readonly table: OpTable;
  readonly entries: EntryOf;
  /** Passes and legalisation of a specialised graph; `name` is the variant's. */
  readonly prepare: (graph: Graph, name: string) => Steps<Graph>;
  /** The template; symbols are bound by the variants. */
  readonly graph: Graph;
  readonly variants: readonly Variant[];
  /** The variants are one function at several sizes; `input` has the size for its only dimension. */
  readonly merge?: Pick<MergeOptions, "sizes" | "input" | "says">;
  /** What is made where these functions are refused as one. */
  readonly otherwise?: RequestedFunctions;
  readonly target: PlanTarget;
  readonly metadata: ModelMetadata;
}

export type RequestedFunctions = Pick<ExportRequest, "variants" | "merge" | "otherwise">;

/** What an export will be, known from the header alone. */
export interface ExportPreview {
  readonly functions: readonly string[];
  /** false: what the data holds may add some bytes to the program. */
  readonly exact: boolean;
  readonly weightBytes: number;
  /** Of the program, without the weights. */
  readonly modelBytes: number;
  readonly sourceBytes: number;
  /** By file type and form. */
  readonly forms: readonly {
    readonly source: string;
    readonly form: string;
    readonly bitsPerWeight: number;
    readonly tensors: number;
    readonly bytes: number;
  }[];
}

export interface ExportReport extends Omit<ExportPreview, "exact"> {
  readonly weights: readonly WeightReport[];
  readonly seconds: number;
}

export type ExportProgress =
  | { readonly kind: "phase"; readonly name: "lower" | "weights" | "model"; readonly sentence: string }
  | { readonly kind: "progress"; readonly doneBytes: number; readonly totalBytes: number; readonly tensor: string };

export interface ExportRun {
  readonly weights: WeightBytes;
  readonly directory: DirectoryWriter;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ExportProgress) => void;
  /** Runs the work before the weights; all at once without it. An engine lets other calls cut in, and cancels. */
  readonly inSlices?: <T>(steps: Steps<T>) => Promise<T>;
}

/** Key under which a package tells what its features stand for. */
export const BINDINGS_KEY = "rlx.bindings";

/** Key under which a package whose graph has host parts, or values that stay on the host, says so: it does not run without them. */
export const HOST_PARTS_KEY = "rlx.hostParts";

/** A variant cut into parts, and the functions of the package that its Core ML parts are. */
export interface VariantParts {
  readonly name: string;
  readonly graph: Graph;
  readonly parts: readonly Part[];
  /** By part index; host parts are not in it. */
  readonly functionNames: ReadonlyMap<number, string>;
}

/** The variants of a request, or those that it has otherwise. */
export function* variantParts(request: ExportRequest): Steps<readonly VariantParts[]> {
  return (yield* settled(request, partsOfVariants)).made;
}

/** What can be made of a request, and of what it asks for otherwise where that is refused. */
function* settled<T>(
  request: ExportRequest,
  make: (request: ExportRequest) => Steps<T>,
): Steps<{ readonly request: ExportRequest; readonly made: T }> {
  try {
    return { request, made: yield* make(request) };
  } catch (error) {
    const { otherwise, merge: _, ...rest } = request;
    if (otherwise === undefined || !isRefusal(error)) throw error;
    return yield* settled({ ...rest, ...otherwise }, make);
  }
}

interface FirstDraft {
  readonly variants: readonly VariantParts[];
  readonly sources: readonly FunctionSource[];
  readonly lowered: LoweredExport;
}

function* firstDraft(request: ExportRequest): Steps<FirstDraft> {
  const variants = yield* partsOfVariants(request);
  const sources = sourcesOf(variants);
  return { variants, sources, lowered: yield* lower(request, sources, new Map(), new Map()) };
}

function* partsOfVariants(request: ExportRequest): Steps<readonly VariantParts[]> {
  const made: VariantParts[] = [];
  for (const variant of request.variants) {
    const bound = yield* specialize(request.table, variant.graph ?? request.graph, variant.bindings);
    const graph = yield* request.prepare(bound, variant.name);
    const parts = partition(request.table, graph, supportFrom(request.entries));
    yield;
    const coreml = parts.filter(({ side }) => side === "coreml");
    const nameOf = ({ index }: Part): string => (coreml.length === 1 ? variant.name : `${variant.name}_${index}`);
    made.push({
      name: variant.name,
      graph,
      parts,
      functionNames: new Map(coreml.map((part) => [part.index, nameOf(part)])),
    });
  }
  const functions = made.flatMap(({ functionNames }) => [...functionNames]);
  if (request.merge !== undefined && functions.length !== request.variants.length)
    throw new WorkbenchError("UNSUPPORTED_TARGET", "[flexible] parts of this graph run on the host", {
      hint: "Unset RLX_COREML_NATIVE_FLEX.",
    });
  // A package with one function names it main.
  const [only] = functions;
  if (functions.length !== 1 || only === undefined) return made;
  return made.map((one) => ({
    ...one,
    functionNames: new Map([...one.functionNames.keys()].map((index) => [index, "main"])),
  }));
}

const sourcesOf = (variants: readonly VariantParts[]): readonly FunctionSource[] =>
  variants.flatMap(({ graph, parts, functionNames }) =>
    parts.flatMap((part) => {
      const name = functionNames.get(part.index);
      return name === undefined ? [] : [{ name, graph: part.graph, isPart: !isWhole(graph, parts) }];
    }),
  );

interface LoweredExport extends LoweredProgram {
  readonly flexible?: PackageContents["flexible"];
}

function* lower(
  request: ExportRequest,
  sources: readonly FunctionSource[],
  folds: ReadonlyMap<string, number>,
  small: SmallParts,
): Steps<LoweredExport> {
  const { opset } = systemOf(request.target.os);
  const buildInfo = { "rlx-workbench": request.metadata.version, target: targetTitle(request.target) };
  const options = {
    rules: rulesFrom(request.entries),
    profile: request.target.profile,
    opset,
    folds,
    small,
    buildInfo,
    levers: leversOf(request.target),
  };
  const lowered = yield* lowerProgram(sources, options);
  if (request.merge === undefined) return lowered;
  // Its weight file is that of the largest size alone: the smaller tables are only looked at.
  const largest = yield* lowerProgram(sources.slice(0, 1), options);
  return merged(lowered, largest, request.merge);
}

const places = (lowered: LoweredProgram): string =>
  JSON.stringify(
    lowered.functions[0]?.mil.operations.map(({ value }) => (value?.data.kind === "blob" ? value.data : 0)),
  );

function merged(
  lowered: LoweredProgram,
  largest: LoweredProgram,
  merge: NonNullable<ExportRequest["merge"]>,
): LoweredExport {
  invariant(places(lowered) === places(largest), "the first function lies in the weight file as it does alone");
  const bytes = new Map(lowered.plan.inlines.map((one) => [one.record.offset, one.bytes]));
  const { flexible, ...one } = mergeSizes(lowered.functions, { ...merge, stored: (offset) => bytes.get(offset) });
  const main = { ...one, mil: { ...one.mil, name: "main" } };
  return {
    ...largest,
    functions: [main],
    program: { ...largest.program, functions: [main.mil] },
    flexible: { main: flexible },
  };
}

function weightSummary(lowered: LoweredProgram): Omit<ExportPreview, "exact" | "modelBytes"> {
  const forms = new Map<string, ExportPreview["forms"][number]>();
  const elements = new Map<string, number>();
  let sourceBytes = 0;
  for (const weight of lowered.plan.weights) {
    const form = formText(weight.form);
    const key = `${weight.type}/${form}`;
    const known = forms.get(key);
    const count = (elements.get(key) ?? 0) + elementCount(weight.shape);
    const own = weight.parts.reduce((sum, p) => sum + packedByteLength(p.dtype, elementCount(p.shape)), 0);
    const bytes = (known?.bytes ?? 0) + own;
    sourceBytes += fileBytes(weight.type, elementCount(weight.shape));
    elements.set(key, count);
    // Of a palette, tables are a share that depends on the matrix.
    const bits = weight.form.kind === "palette" ? (8 * bytes) / count : bitsPerWeight(weight.form);
    forms.set(key, {
      ...{ source: weight.type, form, bitsPerWeight: bits },
      ...{ tensors: (known?.tensors ?? 0) + 1, bytes },
    });
  }
  return {
    functions: lowered.functions.map((f) => f.mil.name),
    weightBytes: lowered.plan.blob.byteLength,
    sourceBytes,
    forms: [...forms.values()].sort((a, b) => b.bytes - a.bytes),
  };
}

/** Halves as scales may need a power of two, and what stands in the program itself may turn out equal to something else. */
const isSettled = ({ form, parts }: PlannedWeight): boolean =>
  (form.kind === "plain" || form.kind === "palette" || (form.kind === "blockwise" && form.scale === "fp32")) &&
  parts.every(({ record }) => record !== undefined);

/** Sizes and forms, without reading a byte of data. */
export function* preview(asked: ExportRequest): Steps<ExportPreview> {
  const { request, made } = yield* settled(asked, firstDraft);
  const { variants, lowered } = made;
  return {
    ...weightSummary(lowered),
    exact: lowered.plan.weights.every(isSettled),
    modelBytes: lowered.functions.length === 0 ? 0 : (yield* modelBytes(contentsOf(request, variants, lowered))).length,
  };
}

export async function exportPackage(asked: ExportRequest, run: ExportRun): Promise<ExportReport> {
  const started = performance.now();
  const inSlices = run.inSlices ?? (<T>(steps: Steps<T>) => Promise.resolve(finish(steps)));
  const phase = (name: "lower" | "weights" | "model", sentence: string): void =>
    run.onProgress?.({ kind: "phase", name, sentence });
  try {
    phase("lower", "Lowering the graph to MIL.");
    const { request, made } = await inSlices(settled(asked, firstDraft));
    const { variants, sources, lowered: first } = made;
    if (sources.length === 0)
      throw new WorkbenchError("UNSUPPORTED_OP", "[export] Core ML can run no part of this graph", {
        hint: "The route view says why for each op.",
      });
    const small = await readSmallParts(first.plan, run.weights, run.signal);
    const draft = small.size === 0 ? first : await inSlices(lower(request, sources, new Map(), small));
    let reports: readonly WeightReport[] = [];
    phase("weights", "Writing the weights.");
    const sizes = await writePackage(
      run.directory,
      draft.plan.blob,
      async (sink) => {
        reports = await writeWeights(draft.plan, run.weights, sink, {
          ...(run.signal === undefined ? {} : { signal: run.signal }),
          onProgress: (doneBytes, totalBytes, tensor) =>
            run.onProgress?.({ kind: "progress", doneBytes, totalBytes, tensor }),
        });
        phase("model", "Writing the program.");
      },
      async () => contentsOf(request, variants, await inSlices(foldedProgram(request, sources, draft, reports, small))),
      { signal: run.signal, inSlices: run.inSlices },
    );
    return {
      ...weightSummary(draft),
      modelBytes: sizes.modelBytes,
      weights: reports,
      seconds: (performance.now() - started) / 1000,
    };
  } catch (error) {
    await run.directory.abandon();
    throw error;
  }
}

/** Weights that needed a power of two change the program, not its places in the file. */
function* foldedProgram(
  request: ExportRequest,
  sources: readonly FunctionSource[],
  draft: LoweredExport,
  reports: readonly WeightReport[],
  small: SmallParts,
): Steps<LoweredExport> {
  const folds = new Map(reports.filter((r) => r.fold !== 0).map((r) => [r.name, r.fold]));
  return folds.size === 0 ? draft : yield* lower(request, sources, folds, small);
}

function contentsOf(
  request: ExportRequest,
  variants: readonly VariantParts[],
  lowered: LoweredExport,
): PackageContents {
  const [first] = lowered.functions;
  const onHost = variants.filter(({ graph, parts }) => !isWhole(graph, parts)).map(({ name }) => name);
  const bindings = Object.fromEntries(lowered.functions.map((f) => [f.mil.name, f.bindings]));
  return {
    program: lowered.program,
    opset: lowered.opset,
    ...(lowered.flexible === undefined ? {} : { flexible: lowered.flexible }),
    defaultFunction: first?.mil.name ?? "main",
    metadata: {
      ...request.metadata,
      userDefined: {
        ...request.metadata.userDefined,
        [BINDINGS_KEY]: JSON.stringify(bindings),
        ...(onHost.length > 0 && { [HOST_PARTS_KEY]: onHost.join(" ") }),
      },
    },
  };
}

/** What the features of each function stand for. */
export type FunctionBindings = Readonly<Record<string, readonly FeatureBinding[]>>;

/** Reads it back from a package of ours. */
export function bindingsOf(userDefined: Readonly<Record<string, string>>): FunctionBindings {
  const text = userDefined[BINDINGS_KEY];
  try {
    if (text === undefined) throw new Error("absent");
    const parsed: unknown = JSON.parse(text);
    if (
      typeof parsed === "object" &&
      parsed !== null &&
      Object.values(parsed).every((list) => Array.isArray(list) && list.every(isBinding))
    )
      return parsed as FunctionBindings;
    throw new Error("not a list of bindings");
  } catch (cause) {
    throw new WorkbenchError(
      "INPUT_MALFORMED",
      "[mlpackage] the package does not say what its inputs and outputs stand for",
      { cause, hint: "Open a package that this workbench exported." },
    );
  }
}

const KINDS: ReadonlySet<unknown> = new Set<FeatureBinding["kind"]>([
  "input",
  "output",
  "state",
  "stateIn",
  "stateOut",
  "freshKeys",
]);

function isBinding(value: unknown): value is FeatureBinding {
  if (typeof value !== "object" || value === null) return false;
  const {
    feature,
    kind,
    name,
    dtype,
    shape,
    free,
    sizes: listed,
    rewind,
  } = value as {
    readonly [K in keyof FeatureBinding]?: unknown;
  };
  const sizes = Array.isArray(shape) && shape.every((d) => Number.isSafeInteger(d) && Number(d) >= 0);
  const axes =
    free === undefined ||
    (sizes &&
      Array.isArray(free) &&
      free.every((d) => Number.isSafeInteger(d) && Number(d) >= 0 && Number(d) < shape.length));
  return (
    typeof feature === "string" &&
    KINDS.has(kind) &&
    typeof name === "string" &&
    typeof dtype === "string" &&
    isMilDtype(dtype) &&
    sizes &&
    axes &&
    (listed === undefined || isSizes(listed)) &&
    (rewind === undefined || (isRewind(rewind) && rewind !== "positions"))
  );
}

const isSizes = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((size) => Number.isSafeInteger(size) && Number(size) > 0);
