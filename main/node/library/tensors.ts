/** The numbers in a model's tensors: what they are, whether any is broken, and how far they are from another file's. */
import type { GgufTensor } from "../../formats/gguf/file.ts";
import type { Measure } from "../../ir/measure.ts";
import type { CheckProgress, CheckReport } from "../../statistics/check.ts";
import { checkFile } from "../../statistics/check.ts";
import type { CompareProgress, Comparison } from "../../statistics/compare.ts";
import { compareFiles } from "../../statistics/compare.ts";
import type { Finding } from "../../statistics/findings.ts";
import { measurer } from "../../statistics/measureRows.ts";
import type { Spread } from "../../statistics/scales.ts";
import { scalesOf } from "../../statistics/scales.ts";
import type { TensorScan } from "../../statistics/scan.ts";
import { scanTensor } from "../../statistics/scan.ts";
import type { PageOfValues } from "../../statistics/values.ts";
import { pageOfValues } from "../../statistics/values.ts";
import { engines, THREADS } from "./addon.ts";
import type { Model } from "./model.ts";

export interface StatisticsOptions {
  /** Another file of the same model, for the difference. */
  readonly against?: Model;
  /** Bars of the histogram; none without it. */
  readonly bars?: number;
  readonly threads?: number;
  readonly signal?: AbortSignal;
}

/** Range, mean, spread, zeros, values that are no numbers, and rows of zeros of one tensor. */
export const tensorStatistics = (model: Model, name: string, options: StatisticsOptions = {}): Promise<TensorScan> =>
  scanTensor(model.file, model.file.requireTensor(name), {
    ...{ measure: measureWith(options.threads), against: options.against?.file },
    ...{ bars: options.bars, signal: options.signal },
  });

/** How the scales of a packed tensor's blocks are spread, and the minimums where its type has some. */
export const blockScales = (
  { file }: Model,
  name: string,
  { bars = 32, signal }: { readonly bars?: number; readonly signal?: AbortSignal } = {},
): Promise<readonly Spread[]> => scalesOf(file, file.requireTensor(name), { bars, signal });

export interface PageOptions {
  /** The expert, in tensors of experts. */
  readonly matrix?: number;
  readonly row?: number;
  readonly column?: number;
  readonly rows?: number;
  readonly columns?: number;
  readonly signal?: AbortSignal;
}

/** A window of a tensor's values, unpacked; only its blocks are read. */
export const tensorValues = ({ file }: Model, name: string, options: PageOptions = {}): Promise<PageOfValues> =>
  pageOfValues(file, file.requireTensor(name), { matrix: 0, row: 0, column: 0, rows: 16, columns: 16, ...options });

export interface CheckModelOptions {
  /** The file that it was made from, or another of the same model. */
  readonly against?: Model;
  readonly threads?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CheckProgress) => void;
  readonly onFinding?: (finding: Finding) => void;
}

/** Is the file broken? The verdict, and what is wrong with the values, tensor by tensor. */
export const checkModel = (model: Model, options: CheckModelOptions = {}): Promise<CheckReport> =>
  checkFile(model.file, {
    ...{ measure: measureWith(options.threads), against: options.against?.file, signal: options.signal },
    ...{ onProgress: options.onProgress, onFinding: options.onFinding },
  });

export interface CompareModelsOptions {
  /** Which tensors; all without it. */
  readonly only?: (tensor: GgufTensor) => boolean;
  readonly threads?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CompareProgress) => void;
}

/** How far each tensor is from the same one of another file or folder, and what cannot be compared. */
export const compareModels = (model: Model, other: Model, options: CompareModelsOptions = {}): Promise<Comparison> => {
  const { threads, ...rest } = options;
  return compareFiles(model.file, other.file, { measure: measureWith(threads), ...rest });
};

function measureWith(threads = THREADS): Measure {
  const { cpu } = engines();
  return measurer(cpu.absent() ? undefined : (rows, signal) => cpu.engine().measure(rows, threads, signal));
}
