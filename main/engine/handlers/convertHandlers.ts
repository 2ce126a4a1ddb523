/** The plan of a conversion, and the conversion itself as a stream of progress. */
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import type { ConvertPlanView } from "../../contract/views/convert.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSink } from "../../formats/byteSink.ts";
import type { ConvertPlan, ConvertProgress } from "../../formats/gguf/convert.ts";
import { planConvert, writeConverted } from "../../formats/gguf/convert.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import type { Jobs } from "../jobs.ts";
import { figure } from "../measure/forecast.ts";
import type { ModelStore } from "../models/modelStore.ts";
import type { OpenModel } from "../models/openModel.ts";
import { progressStream } from "../progressStream.ts";
import type { ModelFiles, PackageFiles } from "../services.ts";
import { CAN, cannot, diskSize } from "../views/overviewView.ts";

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

/** The path of a part, from that of one file. */
const partPath = (path: string, suffix: string): string => path.replace(/(\.gguf)$/u, `${suffix}$1`);

async function* convert({ store, files, jobs }: ConvertParts, input: Input, signal: AbortSignal): AsyncGenerator<Item> {
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1000;
  const model = store.get(input.model);
  const file = model.requireFile("convert");
  if (model.data.kind !== "paths" && model.data.kind !== "made")
    throw new WorkbenchError("INPUT_ARGUMENT", "[convert] the weights of this model are not here", {
      hint: "Open a file with weights, or name its folder.",
    });
  const plan = planOf(file, input);
  const targets = await placesFor(files, plan, input, model);
  const job = jobs.start("convert", file.name);
  let work: Promise<unknown> = Promise.resolve();
  try {
    const steps = progressStream<ConvertProgress, void>((emit) => {
      const writing = writeConverted(
        plan,
        targets.map(({ sink }) => sink),
        { signal, onProgress: emit },
      );
      work = writing;
      return writing;
    });
    let next = await steps.next();
    while (next.done !== true) {
      job.update("writing", next.value.doneBytes / Math.max(1, next.value.totalBytes));
      yield { kind: "progress", ...next.value, elapsedSeconds: seconds() };
      next = await steps.next();
    }
    const ratio = plan.bytes / Math.max(1, file.byteLength);
    yield {
      kind: "done",
      paths: targets.map(({ path }) => path),
      bytes: plan.bytes,
      ratioToSource: ratio,
      seconds: figure(seconds(), "seconds", "measured", "this conversion, once"),
      sentence: sentenceOf(file, plan),
    };
  } finally {
    // A connection that left has cancelled it; what is half written goes before this counts as ended.
    await work.catch(() => undefined);
    job.end();
  }
}

/** All places are taken, or none. A model is not written over itself. */
async function placesFor(
  files: ModelFiles,
  plan: ConvertPlan,
  { path, overwrite }: Input,
  { data }: OpenModel,
): Promise<readonly { readonly path: string; readonly sink: ByteSink }[]> {
  const own = data.kind === "paths" ? data.paths : [];
  const targets: { path: string; sink: ByteSink }[] = [];
  try {
    for (const { suffix } of plan.parts) {
      const target = files.absolute(partPath(path, suffix));
      if (own.includes(target))
        throw new WorkbenchError("INPUT_ARGUMENT", `[convert] ${target} is the file that is read`, {
          hint: "Choose another name.",
        });
      targets.push(await files.create(target, overwrite));
    }
    return targets;
  } catch (error) {
    await Promise.all(targets.map(({ sink }) => sink.abandon()));
    throw error;
  }
}

function sentenceOf(file: GgufFile, plan: ConvertPlan): string {
  const changed = plan.tensors.filter(({ from, to }) => from !== to).length;
  const parts = plan.parts.length === 1 ? "one file" : `${plan.parts.length} files`;
  const ratio = (plan.bytes / Math.max(1, file.byteLength)).toFixed(2);
  return `${diskSize(plan.bytes)} in ${parts}, ${ratio} × the model as it was read (${fromOf(file)}): ${changed} of ${plan.tensors.length} tensors get another type.`;
}

async function planView({ packages }: ConvertParts, model: OpenModel, choice: Choice): Promise<ConvertPlanView> {
  const file = model.requireFile("convert");
  const plan = planOf(file, choice);
  const stem = file.name.replace(/(-\d{5}-of-\d{5})?\.(gguf|safetensors|json)$/iu, "");
  const type = choice.type === null ? (file.made === undefined ? "-converted" : "") : `-${choice.type.toUpperCase()}`;
  const suggested = await packages.suggest(model.path, `${stem}${type}.gguf`);
  const types = new Map<string, ConvertPlanView["types"][number]>();
  for (const { from, to, bytes } of plan.tensors) {
    const key = `${from.name} ${to.name}`;
    const row = types.get(key) ?? { from: from.name, to: to.name, tensors: 0, bytes: 0 };
    types.set(key, { ...row, tensors: row.tensors + 1, bytes: row.bytes + bytes });
  }
  const isHere = model.data.kind === "paths" || model.data.kind === "made";
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
    can: isHere
      ? CAN
      : cannot(
          "INPUT_ARGUMENT",
          "The weights of this model are not here.",
          "Open a file with weights, or name its folder.",
        ),
  };
}
