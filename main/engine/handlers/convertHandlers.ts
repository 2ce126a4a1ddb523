/** The plan of a conversion, and the conversion itself as a stream of progress. */
import { bytesFigure } from "../measure/forecast.ts";
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import type { ConvertPlanView } from "../../contract/views/convert.ts";
import type { ConvertPlan, ConvertProgress } from "../../formats/gguf/convert.ts";
import { planConvert, writeConverted } from "../../formats/gguf/convert.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Jobs } from "../jobs.ts";
import { figure } from "../measure/forecast.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { newFiles, partPaths, stemOf } from "../models/newFiles.ts";
import type { OpenModel } from "../models/openModel.ts";
import { requirePaths } from "../models/openModel.ts";
import type { ModelFiles, PackageFiles } from "../services.ts";
import { CAN } from "../views/overviewView.ts";
import { dataAbility } from "./inspectHandlers.ts";
import { bytesStep, stopwatch, writing } from "./writing.ts";

type Choice = Parameters<EngineHandlers["calls"]["convert.plan"]>[0];
type Input = Parameters<EngineHandlers["streams"]["convert.run"]>[0];
type Item = StreamItemOf<"convert.run">;

export interface ConvertParts {
  readonly store: ModelStore;
  readonly files: ModelFiles;
  readonly packages: Pick<PackageFiles, "suggest">;
  readonly jobs: Jobs;
}

export function convertHandlers(parts: ConvertParts): {
  readonly calls: Pick<EngineHandlers["calls"], "convert.plan">;
  readonly streams: Pick<EngineHandlers["streams"], "convert.run">;
} {
  return {
    calls: { "convert.plan": (choice) => planView(parts, parts.store.get(choice.model), choice) },
    streams: { "convert.run": (input, { signal }) => convert(parts, input, signal) },
  };
}

const planOf = (file: GgufFile, { type, splitBytes, splitTensors }: Choice): ConvertPlan =>
  planConvert(file, {
    type: type ?? undefined,
    splitBytes: splitBytes ?? undefined,
    splitTensors: splitTensors ?? undefined,
  });

const fromOf = (file: GgufFile): string => file.made?.from ?? `GGUF ${file.version}`;

async function* convert({ store, files, jobs }: ConvertParts, input: Input, signal: AbortSignal): AsyncGenerator<Item> {
  const seconds = stopwatch();
  const model = store.get(input.model);
  const file = model.requireFile("convert");
  const own = requirePaths(model, "convert");
  const plan = planOf(file, input);
  const targets = await newFiles(files, partPaths(input.path, plan), { overwrite: input.overwrite, own });
  const sinks = targets.map(({ sink }) => sink);
  yield* writing<ConvertProgress, void, Item>({
    ...{ jobs, kind: "convert", title: file.name, model: input.model },
    work: (emit) => writeConverted(plan, sinks, { signal, onProgress: emit }),
    step: (step) =>
      bytesStep({
        kind: "progress",
        sentence: plan.parts.length === 1 ? "Writing the file" : `Writing file ${step.part} of ${plan.parts.length}`,
        ...step,
        elapsedSeconds: seconds(),
      }),
    done: () => ({
      kind: "done",
      paths: targets.map(({ path }) => path),
      bytes: plan.bytes,
      ratioToSource: plan.bytes / Math.max(1, file.byteLength),
      seconds: figure(seconds(), "seconds", "measured", "this conversion, once"),
      sentence: sentenceOf(file, plan),
    }),
  });
}

function sentenceOf(file: GgufFile, plan: ConvertPlan): string {
  const changed = plan.tensors.filter(({ from, to }) => from !== to).length;
  const parts = plan.parts.length === 1 ? "one file" : `${plan.parts.length} files`;
  const ratio = (plan.bytes / Math.max(1, file.byteLength)).toFixed(2);
  return `${bytesFigure(plan.bytes)} in ${parts}, ${ratio} × the model as it was read (${fromOf(file)}): ${changed} of ${plan.tensors.length} tensors get another type.`;
}

async function planView({ packages }: ConvertParts, model: OpenModel, choice: Choice): Promise<ConvertPlanView> {
  const file = model.requireFile("convert");
  const plan = planOf(file, choice);
  const stem = stemOf(file);
  const type = choice.type === null ? (file.made === undefined ? "-converted" : "") : `-${choice.type.toUpperCase()}`;
  const suggested = await packages.suggest(model.placeOfResults, `${stem}${type}.gguf`);
  const types = new Map<string, ConvertPlanView["types"][number]>();
  for (const { from, to, bytes } of plan.tensors) {
    const key = `${from.name} ${to.name}`;
    const row = types.get(key) ?? { from: from.name, to: to.name, tensors: 0, bytes: 0 };
    types.set(key, { ...row, tensors: row.tensors + 1, bytes: row.bytes + bytes });
  }
  return {
    from: fromOf(file),
    suggestedPath: suggested.path,
    bytes: figure(plan.bytes, "bytes", "exact", "the headers and the tensors"),
    sourceBytes: file.byteLength,
    freeDiskBytes: suggested.freeBytes,
    parts: plan.parts.map(({ suffix, bytes, contents }) => ({
      name: `${stem}${type}${suffix}.gguf`,
      bytes,
      tensors: contents.tensors.length,
    })),
    types: [...types.values()].toSorted((a, b) => b.bytes - a.bytes),
    sentence: sentenceOf(file, plan),
    can: dataAbility(model, "convert") ?? CAN,
  };
}
