/** The plan of a file in other types, and the work itself as a stream of progress that ends in its report. */
import { bytesFigure } from "../measure/forecast.ts";
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import type { QuantizePlanView } from "../../contract/views/quantize.ts";
import type { ByteSink } from "../../formats/byteSink.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { QuantizePlan } from "../../quantize/plan.ts";
import { planQuantize } from "../../quantize/plan.ts";
import type { Recipe } from "../../quantize/recipes.ts";
import { needsImportance, RECIPE_NAMES, recipeOf } from "../../quantize/recipes.ts";
import type { QuantizeProgress, QuantizeReport } from "../../quantize/write.ts";
import { writeQuantized } from "../../quantize/write.ts";
import type { CpuAccess } from "../../runtime/devices/cpu.ts";
import type { Jobs } from "../jobs.ts";
import { figure } from "../measure/forecast.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { importanceAt, newFile, stemOf } from "../models/newFiles.ts";
import type { OpenModel } from "../models/openModel.ts";
import { requirePaths } from "../models/openModel.ts";
import type { ModelFiles, PackageFiles } from "../services.ts";
import { CAN, cannot } from "../views/overviewView.ts";
import { counted } from "../words.ts";
import { dataAbility } from "./inspectHandlers.ts";
import { bytesStep, stopwatch, writing } from "./writing.ts";

type Choice = Parameters<EngineHandlers["calls"]["quantize.plan"]>[0];
type Input = Parameters<EngineHandlers["streams"]["quantize.run"]>[0];
type Item = StreamItemOf<"quantize.run">;

export interface QuantizeParts {
  readonly store: ModelStore;
  readonly cpu: CpuAccess;
  readonly files: ModelFiles;
  readonly packages: Pick<PackageFiles, "suggest">;
  readonly jobs: Jobs;
  readonly threads: number;
}

export function quantizeHandlers(parts: QuantizeParts): {
  readonly calls: Pick<EngineHandlers["calls"], "quantize.plan">;
  readonly streams: Pick<EngineHandlers["streams"], "quantize.run">;
} {
  return {
    calls: { "quantize.plan": (choice) => planView(parts, parts.store.get(choice.model), choice) },
    streams: { "quantize.run": (input, { signal }) => quantize(parts, input, signal) },
  };
}

async function* quantize(
  { store, cpu, files, jobs, threads }: QuantizeParts,
  input: Input,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const seconds = stopwatch();
  const model = store.get(input.model);
  const file = model.requireFile("quantize");
  const own = requirePaths(model, "quantize");
  const importance = input.importance === undefined ? undefined : await importanceAt(files, input.importance);
  const plan = planOf(file, input);
  const engine = cpu.engine();
  const { path, overwrite } = input;
  const target = path === undefined ? undefined : await newFile(files, path, { overwrite, own });
  yield* writing<QuantizeProgress, QuantizeReport, Item>({
    ...{ jobs, kind: "quantize", title: model.description.title, model: model.id },
    work: (emit) =>
      writeQuantized(file, plan, target?.sink ?? nowhere(), {
        repack: (rows, own) => engine.repack(rows, threads, own),
        signal,
        onProgress: emit,
        ...(importance === undefined ? {} : { importance }),
      }),
    step: ({ report, ...progress }) =>
      bytesStep({
        kind: "progress",
        sentence: `${progress.tensor}, ${progress.done} of ${progress.of} tensors`,
        ...progress,
        elapsedSeconds: seconds(),
        report: report ? reportRow(report) : null,
      }),
    done: (report) => doneItem(file, plan, report, target?.path ?? null, seconds()),
  });
}

function doneItem(
  file: GgufFile,
  plan: QuantizePlan,
  report: QuantizeReport,
  path: string | null,
  seconds: number,
): Item {
  const ratio = report.bytes / Math.max(1, file.byteLength);
  const changed = report.tensors.filter(({ from, to }) => from !== to).length;
  return {
    kind: "done",
    path,
    bytes: report.bytes,
    bitsPerWeight: plan.bitsPerWeight,
    ratioToSource: ratio,
    relativeRms: report.relativeError,
    seconds: figure(seconds, "seconds", "measured", "this run, once"),
    sentence: `${bytesFigure(report.bytes)}, ${ratio.toFixed(2)} × the file, ${plan.bitsPerWeight.toFixed(2)} bits per weight: ${changed} of ${report.tensors.length} tensors changed, with an error of ${(report.relativeError * 100).toPrecision(2)} % in all.`,
    tensors: report.tensors.map(reportRow),
  };
}

const reportRow = ({
  name,
  from,
  to,
  bytes,
  relativeError,
}: QuantizeReport["tensors"][number]): {
  name: string;
  from: string;
  to: string;
  bytes: number;
  relativeRms: number;
} => ({ name, from, to, bytes, relativeRms: relativeError });

async function planView({ packages, cpu }: QuantizeParts, model: OpenModel, choice: Choice): Promise<QuantizePlanView> {
  const file = model.requireFile("quantize");
  const plan = planOf(file, choice);
  const suggested = await packages.suggest(model.placeOfResults, `${stemOf(file)}-${choice.recipe.toUpperCase()}.gguf`);
  const types = new Map<string, { type: string; tensors: number; bytes: number }>();
  for (const { type, byteLength } of plan.tensors) {
    const row = types.get(type.name) ?? { type: type.name, tensors: 0, bytes: 0 };
    types.set(type.name, { ...row, tensors: row.tensors + 1, bytes: row.bytes + byteLength });
  }
  const stands = plan.tensors.filter(({ standsInFor }) => standsInFor !== undefined).length;
  return {
    recipes: RECIPE_NAMES.map((id) => ({ id, sentence: recipeSentence(id), needsImportance: needsImportance(id) })),
    suggestedPath: suggested.path,
    freeDiskBytes: suggested.freeBytes,
    bytes: figure(plan.fileBytes, "bytes", "exact", "the header and the tensors"),
    bitsPerWeight: plan.bitsPerWeight,
    sourceBytes: file.byteLength,
    types: [...types.values()].toSorted((a, b) => b.bytes - a.bytes),
    tensors: plan.tensors.map(({ tensor, type, byteLength, standsInFor }) => ({
      name: tensor.name,
      from: tensor.type.name,
      to: type.name,
      bytes: byteLength,
      note: standsInFor === undefined ? null : `in place of ${standsInFor}: its rows are no whole blocks`,
    })),
    sentence: `${bytesFigure(plan.fileBytes)}, ${(plan.fileBytes / Math.max(1, file.byteLength)).toFixed(2)} × the file, ${plan.bitsPerWeight.toFixed(2)} bits per weight.${stands === 0 ? "" : ` Another type for ${counted(stands, "tensor")}, whose rows are no whole blocks.`}`,
    can: cpu.absent()
      ? cannot("ENV_NO_ADDON", "The CPU engine is not built: it packs the weights.", "Run npm run build:native.")
      : (dataAbility(model, "quantise") ?? CAN),
  };
}

const recipeSentence = (recipe: Recipe): string =>
  needsImportance(recipe) ? "needs an importance matrix" : recipe.endsWith("_m") ? "more bits where they matter" : "";

function planOf(file: GgufFile, { recipe, overrides, output, embedding, pure, importance }: Choice): QuantizePlan {
  return planQuantize(file, {
    recipe: recipeOf(recipe),
    pure,
    importance: importance !== undefined,
    overrides,
    ...(output === undefined ? {} : { output }),
    ...(embedding === undefined ? {} : { embedding }),
  });
}

/** For the errors alone. */
const nowhere = (): ByteSink => ({
  write: () => Promise.resolve(),
  finish: () => Promise.resolve(),
  abandon: () => Promise.resolve(),
});
