/**
 * The tensors of a file: their list, a page of values, statistics of one, the check of a whole file with progress, and its
 * comparison with another.
 */
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import type { TensorStatistics } from "../../contract/views/tensors.ts";
import type { GgufFile, GgufTensor } from "../../formats/gguf/file.ts";
import { openModelFile } from "../../formats/openModel.ts";
import type { Measure } from "../../ir/measure.ts";
import type { CpuAccess } from "../../runtime/devices/cpu.ts";
import type { CheckReport } from "../../statistics/check.ts";
import { checkFile } from "../../statistics/check.ts";
import { findingsOf } from "../../statistics/findings.ts";
import { measurer } from "../../statistics/measureRows.ts";
import type { Spread } from "../../statistics/scales.ts";
import { scalesOf } from "../../statistics/scales.ts";
import type { TensorScan } from "../../statistics/scan.ts";
import { scanTensor } from "../../statistics/scan.ts";
import { pageOfValues } from "../../statistics/values.ts";
import type { Jobs } from "../jobs.ts";
import { figure } from "../measure/forecast.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { settledStream } from "../progressStream.ts";
import type { ModelFiles } from "../services.ts";
import { comparedFiles, tensorListHandlers } from "./tensorLists.ts";
import { bounded, differenceView, throttled } from "./tensorNumbers.ts";
import { stopwatch } from "./writing.ts";

type StatisticsItem = StreamItemOf<"tensors.statistics">;
type CheckItem = StreamItemOf<"tensors.check">;

export interface TensorParts {
  readonly store: ModelStore;
  readonly cpu: CpuAccess;
  readonly files: ModelFiles;
  readonly jobs: Jobs;
  readonly threads: number;
}

export function tensorHandlers(parts: TensorParts): {
  readonly calls: Pick<EngineHandlers["calls"], "model.tensors" | "tensors.groups" | "tensors.values">;
  readonly streams: Pick<EngineHandlers["streams"], "tensors.statistics" | "tensors.check" | "tensors.compare">;
} {
  const { store, cpu, files, jobs, threads } = parts;
  const fileOf = (model: string): GgufFile => store.get(model).requireFile("tensors");
  const measure: Measure = (rows, signal) =>
    measurer(cpu.absent() ? undefined : (own, stop) => cpu.engine().measure(own, threads, stop))(rows, signal);
  return {
    calls: {
      ...tensorListHandlers(store),
      "tensors.values": ({ model, tensor, ...choice }, { signal }) => {
        const file = fileOf(model);
        return pageOfValues(file, file.requireTensor(tensor), { ...choice, signal });
      },
    },
    streams: {
      "tensors.statistics": async function* statistics({ model, tensor: name, bars, against }, { signal }) {
        const file = fileOf(model);
        const tensor = file.requireTensor(name);
        yield* withOther(files, against, signal, (other) =>
          statisticsOf(file, tensor, { other, bars, measure, signal }),
        );
      },
      "tensors.check": async function* check({ model, against }, { signal }) {
        const file = fileOf(model);
        const job = jobs.start("check", store.get(model).description.title, model);
        try {
          yield* withOther(files, against, signal, (other) =>
            checked(file, { other, measure, signal, update: (fraction) => job.update("reading", fraction) }),
          );
        } finally {
          job.end();
        }
      },
      "tensors.compare": async function* compare({ model: id, against, query }, { signal }) {
        const model = store.get(id);
        const job = jobs.start("compare", model.description.title, id);
        const update = (fraction: number): void => job.update("reading", fraction);
        try {
          yield* withFile(files, against, signal, (other) =>
            comparedFiles({ model, other, path: against, query: query ?? "", measure, signal, update }),
          );
        } finally {
          job.end();
        }
      },
    },
  };
}

/** The other file, where there is one, is open while `work` goes on. */
async function* withOther<T>(
  files: ModelFiles,
  path: string | null,
  signal: AbortSignal,
  work: (other: GgufFile | undefined) => AsyncGenerator<T>,
): AsyncGenerator<T> {
  if (path === null) yield* work(undefined);
  else yield* withFile(files, path, signal, work);
}

async function* withFile<T>(
  files: ModelFiles,
  path: string,
  signal: AbortSignal,
  work: (other: GgufFile) => AsyncGenerator<T>,
): AsyncGenerator<T> {
  const { source, openSibling } = await files.open(path);
  const other = await openModelFile(source, { openSibling, signal });
  try {
    yield* work(other);
  } finally {
    await other.close();
  }
}

interface Asked {
  readonly other: GgufFile | undefined;
  readonly measure: Measure;
  readonly signal: AbortSignal;
}

async function* statisticsOf(
  file: GgufFile,
  tensor: GgufTensor,
  { other, bars, measure, signal }: Asked & { readonly bars: number },
): AsyncGenerator<StatisticsItem> {
  const seconds = stopwatch();
  const isDue = throttled(seconds);
  // Once for the numbers, once for the bars, and twice for the scales of blocks.
  const totalBytes = tensor.byteLength * (tensor.type.blockSize > 1 ? 4 : 2);
  let doneBytes = 0;
  const statistics = yield* settledStream<StatisticsItem, TensorStatistics>(async (emit) => {
    const onBytes = (bytes: number): void => {
      doneBytes += bytes;
      if (isDue()) emit({ kind: "progress", doneBytes, totalBytes, elapsedSeconds: seconds() });
    };
    const scan = await scanTensor(file, tensor, { measure, against: other, bars, signal, onBytes });
    return statisticsView(tensor, scan, await scalesOf(file, tensor, { bars, signal, onBytes }), other);
  });
  yield { kind: "done", statistics };
}

async function* checked(
  file: GgufFile,
  { other, measure, signal, update }: Asked & { readonly update: (fraction: number) => void },
): AsyncGenerator<CheckItem> {
  const seconds = stopwatch();
  const isDue = throttled(seconds);
  const { compared, ...report } = yield* settledStream<CheckItem, CheckReport>((emit) =>
    checkFile(file, {
      ...{ measure, against: other, signal },
      onFinding: (finding) => emit({ kind: "finding", finding }),
      onProgress: (progress) => {
        if (!isDue()) return;
        update(progress.doneBytes / Math.max(1, progress.totalBytes));
        emit({ kind: "progress", ...progress, elapsedSeconds: seconds() });
      },
    }),
  );
  yield {
    kind: "done",
    ...report,
    seconds: figure(seconds(), "seconds", "measured", "this check, once"),
    compared: compared.map(({ tensor, type, theirs, ...rest }) => ({
      ...{ tensor, type: type.toUpperCase(), theirs: theirs.toUpperCase() },
      ...differenceView(rest),
    })),
  };
}

const typeIn = (file: GgufFile, name: string): string => file.tensor(name)?.type.name.toUpperCase() ?? "none";

function statisticsView(
  tensor: GgufTensor,
  scan: TensorScan,
  scales: readonly Spread[],
  other: GgufFile | undefined,
): TensorStatistics {
  const { name, type, elements, finite, min, max, mean, std, zeros, nans, infinities } = scan;
  const { firstNotFinite, deadRows, firstDead, histogram, difference } = scan;
  return {
    ...{
      tensor: name,
      type: type.toUpperCase(),
      shape: tensor.shape,
      elements,
      finite,
      min,
      max,
      mean: bounded(mean),
      std: bounded(std),
    },
    ...{ zeros, nans, infinities, firstNotFinite, deadRows, firstDead, histogram },
    rows: elements / Math.max(1, tensor.dims[0] ?? 1),
    scales: scales.map((each) => ({ ...each, mean: bounded(each.mean), std: bounded(each.std) })),
    difference:
      difference === null || other === undefined
        ? null
        : { ...differenceView(difference), file: other.name, type: typeIn(other, name) },
    findings: [...findingsOf(scan)],
  };
}
