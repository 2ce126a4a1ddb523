/** The numbers in tensors: a page of values, statistics of one tensor, and the check of a whole file with progress. */
import type { EngineHandlers, StreamItemOf } from "../../contract/contract.ts";
import type { PlaceView, TensorStatistics } from "../../contract/views/tensors.ts";
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
import type { Difference, TensorScan } from "../../statistics/scan.ts";
import { scanTensor } from "../../statistics/scan.ts";
import { pageOfValues } from "../../statistics/values.ts";
import type { Jobs } from "../jobs.ts";
import { figure } from "../measure/forecast.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { settledStream } from "../progressStream.ts";
import type { ModelFiles } from "../services.ts";
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
  readonly calls: Pick<EngineHandlers["calls"], "tensors.values">;
  readonly streams: Pick<EngineHandlers["streams"], "tensors.statistics" | "tensors.check">;
} {
  const { store, cpu, files, jobs, threads } = parts;
  const fileOf = (model: string): GgufFile => store.get(model).requireFile("tensors");
  const measure: Measure = (rows, signal) =>
    measurer(cpu.absent() ? undefined : (own, stop) => cpu.engine().measure(own, threads, stop))(rows, signal);
  return {
    calls: {
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
    },
  };
}

/** The other file is open while `work` goes on. */
async function* withOther<T>(
  files: ModelFiles,
  path: string | null,
  signal: AbortSignal,
  work: (other: GgufFile | undefined) => AsyncGenerator<T>,
): AsyncGenerator<T> {
  if (path === null) {
    yield* work(undefined);
    return;
  }
  const { source, openSibling } = await files.open(path);
  const other = await openModelFile(source, { openSibling, signal });
  try {
    yield* work(other);
  } finally {
    await other.close();
  }
}

/** Progress is told this often at most. */
const EVERY_SECONDS = 0.1;

function throttled(seconds: () => number): () => boolean {
  let told = -Infinity;
  return () => {
    const now = seconds();
    if (now - told < EVERY_SECONDS) return false;
    told = now;
    return true;
  };
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

/** null where it is beyond all numbers. */
const bounded = (value: number): number | null => (Number.isFinite(value) ? value : null);

function differenceView({ rmse, relative, cosine, worst }: Difference): {
  rmse: number | null;
  relative: number | null;
  cosine: number | null;
  worst: { place: PlaceView; relative: number | null } | null;
} {
  return {
    ...{ rmse: bounded(rmse), relative: bounded(relative), cosine: bounded(cosine) },
    worst: worst === null ? null : { place: worst.place, relative: bounded(worst.relative) },
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
