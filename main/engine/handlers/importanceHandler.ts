/** An importance matrix of a model over a text: chunk by chunk as a stream of progress, written when all are done. */
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import { requireReadingDecoder } from "../../models/architecture.ts";
import { writeImportance } from "../../quantize/importance.ts";
import type { CpuAccess } from "../../runtime/devices/cpu.ts";
import { compileGraph } from "../../runtime/devices/cpu.ts";
import { locateIn, mappedFiles, requireData } from "../../runtime/decoderModel.ts";
import type { Gathered } from "../../runtime/inputSquares.ts";
import { gatherInputs } from "../../runtime/inputSquares.ts";
import type { Jobs } from "../jobs.ts";
import { figure } from "../measure/forecast.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { mappablePaths } from "../models/openModel.ts";
import { inSlices } from "../models/taskCache.ts";
import type { ModelFiles } from "../services.ts";
import { counted } from "../words.ts";
import { stopwatch, writing } from "./writing.ts";

type Item = StreamItemOf<"quantize.importance">;

export interface ImportanceParts {
  readonly store: ModelStore;
  readonly cpu: CpuAccess;
  readonly files: ModelFiles;
  readonly jobs: Jobs;
  readonly threads: number;
}

export function importanceHandler(parts: ImportanceParts): EngineHandlers["streams"]["quantize.importance"] {
  return async function* gather(input, { signal }) {
    const seconds = stopwatch();
    const model = parts.store.get(input.model);
    const file = requireData(model.requireFile("imatrix"));
    requireReadingDecoder(file);
    const { tokenizer } = model;
    const all = await inSlices(tokenizer.encodeSteps(input.text), signal);
    const chunk = Math.min(input.chunk, model.description.context ?? input.chunk);
    const tokens = input.chunks === undefined ? all : all.subarray(0, input.chunks * chunk);
    const engine = parts.cpu.engine();
    const paths = await mappablePaths(model, "imatrix", signal);
    const target = await parts.files.create(input.path, input.overwrite);
    try {
      yield* writing<Item & { readonly kind: "progress" }, Gathered, Item>({
        ...{ jobs: parts.jobs, kind: "quantize", title: model.description.title, model: model.id },
        work: (emit) =>
          gatherInputs(file, tokens, {
            compile: (graph) =>
              compileGraph(engine, graph, {
                threads: input.threads ?? parts.threads,
                weights: { ...mappedFiles(file, paths), locate: locateIn(file) },
              }),
            chunk,
            bos: tokenizer.addBos ? tokenizer.bos : undefined,
            signal,
            onProgress: (done, of) => emit({ kind: "progress", done, of, elapsedSeconds: seconds() }),
          }),
        step: (item) => ({ item, phase: "gathering", fraction: item.done / Math.max(1, item.of) }),
        async done(gathered) {
          const bytes = await writeImportance(target.sink, gathered.inputs, { ...gathered, text: input.textName });
          return doneItem(target.path, bytes, gathered, seconds());
        },
      });
    } finally {
      await target.sink.abandon();
    }
  };
}

function doneItem(path: string, bytes: number, { inputs, chunks, chunk }: Gathered, seconds: number): Item {
  const counts = [...inputs.values()].map((each) => each.counts);
  const unreached = counts.reduce((sum, each) => sum + each.filter((count) => count === 0).length, 0);
  const left = unreached === 0 ? "" : ` The text did not reach ${counted(unreached, "expert")} of a weight.`;
  return {
    kind: "done",
    path,
    bytes,
    tokens: chunks * chunk,
    chunks,
    chunk,
    weights: inputs.size,
    unreached,
    seconds: figure(seconds, "seconds", "measured", "this run, once"),
    sentence: `${counted(inputs.size, "weight")} over ${counted(chunks, "chunk")} of ${counted(chunk, "token")}.${left}`,
  };
}
