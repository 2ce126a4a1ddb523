/** The plan of an export, and the export itself as a stream of progress that ends in its report. */
import { bytesFigure } from "../measure/forecast.ts";
import type { ExportPreview, ExportProgress, ExportReport } from "../../backends/coreml/export.ts";
import { preview } from "../../backends/coreml/export.ts";
import type { ShapeFlexibility } from "../../backends/coreml/flexible.ts";
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { ExportPlan } from "../../contract/views/export.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { CpuAccess } from "../../runtime/devices/cpu.ts";
import type { EngineDevices } from "../devices.ts";
import { boundSentence, exportModel, exportRequest } from "../models/exporting.ts";
import { stemOf } from "../models/newFiles.ts";
import { figure } from "../measure/forecast.ts";
import { exportAbility } from "./inspectHandlers.ts";
import type { Jobs } from "../jobs.ts";
import type { PackageFiles } from "../services.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { planTarget } from "../models/routes.ts";
import { phaseItem } from "./runHandlers.ts";
import type { WritingStep } from "./writing.ts";
import { bytesStep, writing } from "./writing.ts";
import type { TaskKind } from "../models/taskCache.ts";
import { inSlices, tasksOf } from "../models/taskCache.ts";

/** One for each target that is looked at. */
const PREVIEW: TaskKind<ExportPreview> = { name: "export preview", keep: 16 };

type ExportItem = StreamItemOf<"export.start">;

export interface ExportParts {
  readonly store: ModelStore;
  readonly cpu: CpuAccess;
  readonly devices: EngineDevices;
  readonly jobs: Jobs;
  readonly flexibility: ShapeFlexibility;
  readonly packages: PackageFiles;
}

export function exportHandlers(parts: ExportParts): {
  readonly calls: Pick<EngineHandlers["calls"], "export.plan">;
  readonly streams: Pick<EngineHandlers["streams"], "export.start">;
} {
  return {
    calls: {
      "export.plan": ({ model, target, symbols = {} }, { signal }) =>
        exportPlan(parts, parts.store.get(model), { target, symbols }, signal),
    },
    streams: {
      async *"export.start"({ model, target, symbols = {}, path, overwrite }, { signal }) {
        const started = performance.now();
        const open = parts.store.get(model);
        const where = await parts.packages.place(path, overwrite);
        void parts.packages.removeAbandonedFiles();
        yield phaseItem("prepare", "Preparing the graph", started);
        const plan = planTarget(open, target, "decode");
        const sizes = await boundSentence(open, plan, symbols, signal);
        yield* writing<ExportProgress, ExportReport, ExportItem>({
          ...{ jobs: parts.jobs, kind: "export", title: open.title, model: open.id },
          work: (emit) =>
            exportModel(open, plan, {
              directory: () => parts.packages.writer(where, { noted: true }),
              engine: parts.cpu.absent() ? undefined : parts.cpu.engine(),
              flexibility: parts.flexibility,
              symbols,
              signal,
              onProgress: emit,
            }),
          step: (progress) => stepOf(progress, started),
          done: (report) => doneItem(open, where, report, sizes),
        });
      },
    },
  };
}

function stepOf(progress: ExportProgress, started: number): WritingStep<ExportItem> {
  if (progress.kind === "phase")
    return { item: phaseItem(progress.name, progress.sentence, started), phase: progress.name, fraction: null };
  const elapsedSeconds = (performance.now() - started) / 1000;
  return bytesStep({ ...progress, sentence: `Writing ${progress.tensor}`, elapsedSeconds });
}

function doneItem(
  model: OpenModel,
  path: string,
  report: ExportReport,
  sizes: string,
): Extract<ExportItem, { readonly kind: "done" }> {
  const bytes = report.weightBytes + report.modelBytes;
  const source = model.file?.byteLength ?? model.text?.text.length ?? report.sourceBytes;
  return {
    kind: "done",
    path,
    bytes,
    ratioToSource: bytes / source,
    seconds: figure(report.seconds, "seconds", "measured", "this export, once"),
    functions: [...report.functions],
    sentence: `${weightsSentence(report.weights)}${sizes}`,
    weights: report.weights.map((weight) => ({
      name: weight.name,
      source: weight.type.toUpperCase(),
      form: weight.form,
      bitsPerWeight: weight.bitsPerWeight,
      bytes: weight.storedBytes,
      relativeRms: weight.rmsError,
      note: weightNote(weight),
    })),
  };
}

/** One sentence on what the mapping cost, and one more where numbers were lost altogether. */
export function weightsSentence(weights: ExportReport["weights"]): string {
  if (weights.length === 0) return "No weights of a file: its numbers stand in the program.";
  const worst = Math.max(0, ...weights.map(({ rmsError }) => rmsError));
  const error = worst === 0 ? "none" : `${(worst * 100).toPrecision(2)} %`;
  const overflowed = weights.reduce((sum, weight) => sum + weight.overflowed, 0);
  return [
    `${weights.length} weights, largest error ${error}, measured on ${measuredRows(weights)}.`,
    ...(overflowed === 0 ? [] : [`${overflowText(overflowed)}.`]),
  ].join(" ");
}

/** Errors are those of sampled rows where no native engine was built, and there are more rows. */
function measuredRows(weights: ExportReport["weights"]): string {
  if (weights.every(({ rows, rowsMeasured }) => rowsMeasured === rows)) return "all elements";
  const most = Math.max(...weights.map(({ rowsMeasured }) => rowsMeasured));
  return `${most} rows of each at most, because no native engine was built`;
}

const overflowText = (count: number): string =>
  `${count} ${count === 1 ? "element is" : "elements are"} too large for what the package stores`;

export function weightNote({ fold, notFinite, overflowed }: ExportReport["weights"][number]): string | null {
  const notes = [
    ...(fold === 0 ? [] : [`scaled by 2^${fold} to keep small scales`]),
    ...(notFinite === 0
      ? []
      : [`${notFinite} ${notFinite === 1 ? "element is" : "elements are"} not finite in the file`]),
    ...(overflowed === 0 ? [] : [overflowText(overflowed)]),
  ];
  return notes.length === 0 ? null : notes.join("; ");
}

async function exportPlan(
  { devices, flexibility, packages }: ExportParts,
  model: OpenModel,
  { target, symbols }: { readonly target: TargetSpec; readonly symbols: Bindings },
  signal: AbortSignal,
): Promise<ExportPlan> {
  const can = exportAbility(model, devices);
  const name = model.file === undefined ? (model.text?.name.replace(/\.rlx$/iu, "") ?? "model") : stemOf(model.file);
  const suggested = await packages.suggest(model.placeOfResults, `${name}.mlpackage`);
  const base = {
    suggestedPath: suggested.path,
    sourceBytes: model.file?.byteLength ?? 0,
    freeDiskBytes: suggested.freeBytes,
    can,
  };
  // A graph that cannot be made has no plan; `can` says why.
  if (!can.ok && can.code !== "INPUT_ARGUMENT" && can.code !== "INPUT_NOT_FOUND")
    return {
      ...base,
      bytes: figure(0, "bytes", "predicted", "no plan"),
      functions: [],
      forms: [],
      sentence: can.sentence,
    };
  if (!model.file && !can.ok)
    return {
      ...base,
      bytes: figure(0, "bytes", "predicted", "no plan"),
      functions: [],
      forms: [],
      sentence: can.sentence,
    };
  const plan = planTarget(model, target, "decode");
  const planned = await tasksOf(model).get(PREVIEW, JSON.stringify([plan, flexibility, symbols]), signal, async (own) =>
    inSlices(preview(await exportRequest(model, plan, own, { flexibility, symbols })), own),
  );
  const bytes = planned.weightBytes + planned.modelBytes;
  const functions =
    planned.functions.length === 1 ? "for one function" : `that ${planned.functions.join(" and ")} share`;
  const weights = planned.forms.reduce((sum, form) => sum + form.bytes, 0);
  return {
    ...base,
    bytes: planned.exact
      ? figure(bytes, "bytes", "exact", "weights and the program")
      : figure(
          bytes,
          "bytes",
          "predicted",
          "weights and the program, to which what the weights hold may add some bytes",
        ),
    functions: [...planned.functions],
    forms: planned.forms.map((form) => ({ ...form, source: form.source.toUpperCase() })),
    sentence: `${bytesFigure(bytes)}${model.file === undefined ? "" : `, ${(bytes / Math.max(1, base.sourceBytes)).toFixed(2)} × the file`}: ${bytesFigure(weights)} of weights ${functions}, and ${bytesFigure(bytes - weights)} of program, constants and padding.${await boundSentence(model, plan, symbols, signal)}`,
  };
}
