/** Export of an open model: the request made from its graph and target, the bytes read from its file, the package on disk. */
import type { Dequantize } from "../../backends/coreml/weights/convert.ts";
import type { WeightForm } from "../../backends/coreml/weights/forms.ts";
import type { MeasureRows } from "../../backends/coreml/weights/measure.ts";
import type { WeightBytes } from "../../backends/coreml/weights/write.ts";
import type { ExportProgress, ExportReport, ExportRequest } from "../../backends/coreml/export.ts";
import { exportPackage, flexibleVariants } from "../../backends/coreml/export.ts";
import type { ShapeFlexibility } from "../../backends/coreml/flexible.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import { prepareInSteps } from "../../compiler/prepare.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { TEMPLATE } from "../../models/template.ts";
import { opTable } from "../../ops/index.ts";
import type { CpuEngine, StoredRows } from "../../backends/cpu/engine.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { Note } from "../../node/files/leftovers.ts";
import { packageWriter } from "../../node/files/packageDirectory.ts";
import { VERSION } from "../../node/version.ts";
import { templateOf } from "./graphs.ts";
import type { OpenModel } from "./openModel.ts";
import { coremlEntry } from "./routes.ts";
import { inSlices } from "./works.ts";

/** `whole`: what the functions belong to, for whoever is told of their compiles. */
const preparation =
  (model: OpenModel, whole: string): ExportRequest["prepare"] =>
  (graph, name) =>
    prepareInSteps(graph, "coreml", { ...model.watch, what: `function ${name} of ${whole}` });

export async function exportRequest(
  model: OpenModel,
  target: PlanTarget,
  signal: AbortSignal,
  flexibility: ShapeFlexibility = "fixed",
): Promise<ExportRequest> {
  return {
    table: opTable,
    entries: coremlEntry,
    prepare: preparation(model, "the planned package"),
    graph: await templateOf(model, signal),
    ...flexibleVariants(target, TEMPLATE, flexibility),
    target,
    metadata: {
      shortDescription: `${model.description.title} ${model.description.variant}`,
      author: "",
      license: "",
      version: VERSION,
      userDefined: { "rlx.source": model.requireFile("export").identity },
    },
  };
}

/** Exact values of rows through the native engine: one buffer, used again. */
export function nativeDequantize(engine: CpuEngine): Dequantize {
  return (type, bytes, count) => {
    const target = new Float32Array(count);
    engine.dequantize(type, bytes, target);
    return target;
  };
}

type Layout = Pick<StoredRows, "codes" | "group" | "scales" | "offsets">;

function layoutOf(form: WeightForm): Layout {
  switch (form.kind) {
    case "plain":
      return { codes: form.dtype, group: 0, scales: "fp16", offsets: "none" };
    case "split":
      return { codes: form.codes, group: form.block, scales: "fp16", offsets: "none" };
    case "blockwise":
      return { codes: form.codes, group: form.block, scales: form.scale, offsets: form.offset ?? "none" };
  }
}

/** The error of every element through the native engine, on a thread of its own. */
export function nativeMeasure(engine: CpuEngine): MeasureRows {
  return ({ type, original, count, form, parts, fold }, signal) => {
    const [scale, offset, rest] = [parts.get("scale"), parts.get("offset"), parts.get("rest")];
    return engine.storedError(
      {
        ...layoutOf(form),
        type,
        original,
        count,
        data: parts.get("data") ?? new Uint8Array(0),
        ...(scale && { scale }),
        ...(offset && { offset }),
        ...(rest && { rest }),
        unfold: 2 ** -fold,
      },
      signal,
    );
  };
}

/** What unpacks weights, and measures them: without an engine the reference does, and a sample of rows has to do. */
const weightWork = (engine: CpuEngine | undefined): Omit<WeightBytes, "read"> =>
  engine === undefined ? { dequantize } : { dequantize: nativeDequantize(engine), measure: nativeMeasure(engine) };

export interface ExportOptions {
  readonly path: string;
  /** Undefined where none was built. */
  readonly engine: CpuEngine | undefined;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: ExportProgress) => void;
  readonly flexibility?: ShapeFlexibility;
  readonly note?: Note;
}

export async function exportModel(model: OpenModel, target: PlanTarget, options: ExportOptions): Promise<ExportReport> {
  const file = model.requireFile("export");
  if (model.data.kind !== "paths")
    throw new WorkbenchError("INPUT_ARGUMENT", "[export] the weights of this model are not here", {
      hint: "Open a file with weights, or name its folder.",
    });
  const request = await exportRequest(model, target, options.signal, options.flexibility);
  const own = { ...request, prepare: preparation(model, "the package") };
  return exportPackage(own, {
    directory: await packageWriter(options.path, options.note),
    weights: {
      read: (tensor, offset, length, signal) => file.readTensor(file.requireTensor(tensor), { offset, length, signal }),
      ...weightWork(options.engine),
    },
    signal: options.signal,
    inSlices: (steps) => inSlices(steps, options.signal),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
}
