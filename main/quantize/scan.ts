/**
 * What the values of a tensor are: their range, mean and spread, values that are no numbers, rows of zeros, and how far another
 * file's values are from them. Reads each tensor once, a piece of rows at a time; for a histogram once more.
 */
import { throwIfCancelled, toWireError, WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import type { ElementType } from "../ir/dtype.ts";

/** Rows as f32 numbers, bit for bit what ggml gives. */
export type Unpack = (type: ElementType, bytes: Uint8Array) => Promise<Float32Array>;

export interface Place {
  /** Of the expert where there is one. */
  readonly row: number;
  readonly expert: number | null;
  readonly column: number;
}

export interface Histogram {
  readonly from: number;
  readonly to: number;
  readonly counts: readonly number[];
}

/** Numbers are of the values that are finite. */
export interface TensorScan {
  readonly name: string;
  readonly type: string;
  readonly dims: readonly number[];
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly std: number;
  readonly zeros: number;
  readonly nans: number;
  readonly infinities: number;
  readonly firstNotFinite: Place | null;
  /** Rows of nothing but zeros, in matrices. */
  readonly deadRows: number;
  readonly firstDead: Place | null;
  readonly histogram: Histogram | null;
  /** Root of the mean square of the difference to the other file's values over that of those; null without one. */
  readonly difference: number | null;
}

export interface ScanOptions {
  readonly unpack: Unpack;
  readonly against?: GgufFile | undefined;
  /** Bars of the histogram; none without it. */
  readonly bars?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type Finding = {
  readonly tensor: string;
  /** "broken": no model works with it. "odd": a model may be meant so. */
  readonly kind: "broken" | "odd";
  readonly sentence: string;
};

/** Values that are unpacked at a time. */
const PIECE = 1 << 21;

class Sums {
  min = Infinity;
  max = -Infinity;
  mean = 0;
  /** Sum of squared distances to the mean. */
  spread = 0;
  count = 0;
  zeros = 0;
  nans = 0;
  infinities = 0;
  bad = -1;
  deadRows = 0;
  dead = -1;

  /** Whole rows; `at` is the place of their first value in the tensor. */
  add(values: Float32Array, columns: number, at: number): void {
    let [sum, count, zeros] = [0, 0, 0];
    for (const value of values) {
      if (value - value !== 0) continue;
      sum += value;
      count++;
      if (value === 0) zeros++;
      if (value < this.min) this.min = value;
      if (value > this.max) this.max = value;
    }
    if (count < values.length) this.#countBad(values, at);
    if (zeros >= columns) this.#countDead(values, columns, at);
    this.zeros += zeros;
    if (count === 0) return;
    const mean = sum / count;
    let spread = 0;
    for (const value of values) if (value - value === 0) spread += (value - mean) ** 2;
    const all = this.count + count;
    const apart = mean - this.mean;
    this.spread += spread + (apart * apart * this.count * count) / all;
    this.mean += (apart * count) / all;
    this.count = all;
  }

  #countBad(values: Float32Array, at: number): void {
    values.forEach((value, i) => {
      if (value - value === 0) return;
      if (Number.isNaN(value)) this.nans++;
      else this.infinities++;
      if (this.bad < 0) this.bad = at + i;
    });
  }

  #countDead(values: Float32Array, columns: number, at: number): void {
    for (let row = 0; row < values.length; row += columns) {
      if (values.subarray(row, row + columns).some((value) => value !== 0)) continue;
      this.deadRows++;
      if (this.dead < 0) this.dead = at + row;
    }
  }
}

export async function scanTensor(file: GgufFile, tensor: GgufTensor, options: ScanOptions): Promise<TensorScan> {
  const { against, bars, signal } = options;
  const columns = tensor.dims[0] ?? 1;
  const other = against?.tensor(tensor.name);
  if (against !== undefined && other?.dims.join() !== tensor.dims.join())
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[tensors] ${tensor.name} in ${against.name}: got ${other === undefined ? "none" : `[${other.dims.join(", ")}]`}, expected [${tensor.dims.join(", ")}]`,
      { hint: "Compare with a file of the same model." },
    );
  const sums = new Sums();
  let [error, energy] = [0, 0];
  for await (const { values, at } of piecesOf(file, tensor, options)) {
    sums.add(values, columns, at);
    if (against === undefined || other === undefined) continue;
    const theirs = await valuesAt(against, other, at, values.length, options);
    for (let i = 0; i < values.length; i++) {
      const y = theirs[i] ?? 0;
      const rest = (values[i] ?? 0) - y;
      if (rest - rest !== 0) continue;
      error += rest * rest;
      energy += y * y;
    }
  }
  throwIfCancelled(signal);
  return {
    name: tensor.name,
    type: tensor.type.name,
    dims: tensor.dims,
    min: sums.count === 0 ? 0 : sums.min,
    max: sums.count === 0 ? 0 : sums.max,
    mean: sums.mean,
    std: sums.count === 0 ? 0 : Math.sqrt(sums.spread / sums.count),
    zeros: sums.zeros,
    nans: sums.nans,
    infinities: sums.infinities,
    firstNotFinite: placeOf(tensor, sums.bad),
    deadRows: tensor.dims.length < 2 ? 0 : sums.deadRows,
    firstDead: tensor.dims.length < 2 ? null : placeOf(tensor, sums.dead),
    histogram: bars === undefined || sums.count === 0 ? null : await histogramOf(file, tensor, sums, bars, options),
    difference: other === undefined ? null : energy === 0 ? (error === 0 ? 0 : Infinity) : Math.sqrt(error / energy),
  };
}

async function histogramOf(
  file: GgufFile,
  tensor: GgufTensor,
  { min, max }: Sums,
  bars: number,
  options: ScanOptions,
): Promise<Histogram> {
  const counts = new Array<number>(bars).fill(0);
  const width = (max - min) / bars;
  for await (const { values } of piecesOf(file, tensor, options))
    for (const value of values) {
      if (value - value !== 0) continue;
      const bar = width === 0 ? 0 : Math.min(bars - 1, Math.floor((value - min) / width));
      counts[bar] = (counts[bar] ?? 0) + 1;
    }
  return { from: min, to: max, counts };
}

async function* piecesOf(
  file: GgufFile,
  tensor: GgufTensor,
  options: ScanOptions,
): AsyncGenerator<{ readonly values: Float32Array; readonly at: number }> {
  const columns = tensor.dims[0] ?? 1;
  const step = Math.max(1, Math.floor(PIECE / columns)) * columns;
  for (let at = 0; at < tensor.elements; at += step) {
    throwIfCancelled(options.signal);
    yield { values: await valuesAt(file, tensor, at, Math.min(step, tensor.elements - at), options), at };
  }
}

/** Whole rows from the value at `at` on. */
async function valuesAt(
  file: GgufFile,
  tensor: GgufTensor,
  at: number,
  count: number,
  { unpack, signal }: ScanOptions,
): Promise<Float32Array> {
  const { element, name } = tensor.type;
  if (element === undefined)
    throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[tensors] ${tensor.name}: ${name} cannot be unpacked`);
  const bytesPer = tensor.byteLength / tensor.elements;
  const range = { offset: at * bytesPer, length: count * bytesPer, signal };
  return unpack(element, await file.readTensor(tensor, range));
}

function placeOf({ dims }: GgufTensor, at: number): Place | null {
  if (at < 0) return null;
  const [columns = 1, rows = 1] = dims;
  const row = Math.floor(at / columns);
  return {
    row: row % rows,
    expert: dims.length < 3 ? null : Math.floor(row / rows),
    column: at % columns,
  };
}

const placeText = ({ row, expert }: Place): string =>
  expert === null ? `row ${row}` : `row ${row} of expert ${expert}`;

const counted = (n: number, one: string): string => `${n} ${one}${n === 1 ? "" : "s"}`;

/** What is wrong with a tensor by its values. */
export function findingsOf(scan: TensorScan): readonly Finding[] {
  const { name: tensor, nans, infinities, firstNotFinite, deadRows, firstDead, dims } = scan;
  const found: Finding[] = [];
  if (firstNotFinite !== null) {
    const what = [nans > 0 ? `${nans} NaN` : "", infinities > 0 ? `${infinities} infinite` : ""].filter(Boolean);
    found.push({
      tensor,
      kind: "broken",
      sentence: `${what.join(" and ")}, the first in ${placeText(firstNotFinite)}`,
    });
  }
  const rows = dims.slice(1).reduce((product, size) => product * size, 1);
  if (firstDead !== null && deadRows === rows) found.push({ tensor, kind: "broken", sentence: "nothing but zeros" });
  else if (firstDead !== null)
    found.push({
      tensor,
      kind: "odd",
      sentence: `${counted(deadRows, "row")} of zeros, the first is ${placeText(firstDead)}`,
    });
  return found;
}

/** Scans one tensor and never throws for what is in the file: that is a finding, too. */
export async function checkTensor(
  file: GgufFile,
  tensor: GgufTensor,
  options: ScanOptions,
): Promise<{ readonly scan: TensorScan | null; readonly findings: readonly Finding[] }> {
  if (tensor.type.element === undefined) return { scan: null, findings: [] };
  try {
    const scan = await scanTensor(file, tensor, options);
    return { scan, findings: findingsOf(scan) };
  } catch (error) {
    const { code, message } = toWireError(error);
    if (!code.startsWith("INPUT_") || code === "INPUT_ARGUMENT") throw error;
    return { scan: null, findings: [{ tensor: tensor.name, kind: "broken", sentence: message }] };
  }
}
