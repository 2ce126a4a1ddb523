/**
 * What the values of a tensor are: their range, mean and spread, values that are no numbers, rows of zeros, and how far another
 * file's values are from them. Reads each tensor once, a piece at a time and the next one meanwhile; for a histogram once more.
 */
import { throwIfCancelled, WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import type { ElementType } from "../ir/dtype.ts";
import type { Measure, MeasuredRows } from "../ir/measure.ts";
import { join } from "./measureRows.ts";
import type { Place } from "./places.ts";
import { isVector, placeOf } from "./places.ts";
import type { Experts } from "./rowWatch.ts";
import { RowWatch } from "./rowWatch.ts";

export interface Histogram {
  readonly from: number;
  readonly to: number;
  readonly counts: readonly number[];
}

/** To the values of another file, where both are finite. */
export interface Difference {
  /** Root of the mean square. */
  readonly rmse: number;
  /** That over the root of the mean square of the other file's values. */
  readonly relative: number;
  readonly cosine: number;
  /** The other file's values over the difference, in decibels: infinite where there is none. */
  readonly decibels: number;
  readonly compared: number;
  /** The two values that are farthest apart; null where nothing was compared. */
  readonly farthest: { readonly place: Place; readonly difference: number } | null;
  /** The row with the largest relative error, with that error and the mean square of its difference; null where nothing was compared. */
  readonly worst: { readonly place: Place; readonly relative: number; readonly meanSquare: number } | null;
  /** Mean square of the other file's values. */
  readonly meanSquare: number;
}

/** Numbers are of the values that are finite; all 0 where none is. */
export interface TensorScan {
  readonly name: string;
  readonly type: string;
  readonly dims: readonly number[];
  readonly elements: number;
  readonly finite: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly std: number;
  readonly zeros: number;
  readonly nans: number;
  readonly infinities: number;
  readonly firstNotFinite: Place | null;
  /** Experts with such values. */
  readonly badExperts: Experts;
  /** The value farthest from zero. */
  readonly largest: Place | null;
  /** Rows of nothing but zeros, in matrices. */
  readonly deadRows: number;
  readonly firstDead: Place | null;
  readonly deadExperts: Experts;
  readonly histogram: Histogram | null;
  /** null without another file. */
  readonly difference: Difference | null;
}

export interface ScanOptions {
  readonly measure: Measure;
  readonly against?: GgufFile | undefined;
  /** Bars of the histogram; none without it. */
  readonly bars?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Bytes that were read since the last call. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/** Values that are measured at a time: whole blocks of every type. */
const PIECE = 1 << 22;

export async function scanTensor(file: GgufFile, tensor: GgufTensor, options: ScanOptions): Promise<TensorScan> {
  const { against, bars, signal } = options;
  const other = against === undefined ? undefined : { file: against, tensor: sameTensor(against, tensor) };
  const sums = new Sums(tensor);
  for await (const { measured, at, width } of measuredPieces(file, tensor, options, { other })) {
    sums.add(measured, at, width);
  }
  sums.watch.end();
  throwIfCancelled(signal);
  const { min, max, watch } = sums;
  const hasRows = !isVector(tensor.dims);
  return {
    name: tensor.name,
    type: tensor.type.name,
    dims: tensor.dims,
    elements: tensor.elements,
    finite: sums.count,
    ...{ min, max, mean: sums.mean, std: sums.count === 0 ? 0 : Math.sqrt(sums.spread / sums.count) },
    ...{ zeros: sums.zeros, nans: sums.nans, infinities: sums.infinities },
    firstNotFinite: placeOf(tensor, sums.firstNotFinite),
    badExperts: watch.badExperts,
    largest: placeOf(tensor, sums.largest),
    deadRows: hasRows ? watch.deadRows : 0,
    firstDead: hasRows ? placeOf(tensor, watch.firstDead) : null,
    deadExperts: watch.deadExperts,
    histogram:
      bars === undefined || sums.count === 0 ? null : await histogramOf(file, tensor, { min, max, bars }, options),
    difference: other === undefined ? null : differenceOf(tensor, sums),
  };
}

class Sums {
  min = 0;
  max = 0;
  mean = 0;
  spread = 0;
  count = 0;
  zeros = 0;
  nans = 0;
  infinities = 0;
  firstNotFinite = -1;
  largest = -1;
  compared = 0;
  error = 0;
  energy = 0;
  product = 0;
  own = 0;
  farthest = 0;
  farthestAt = -1;
  readonly watch: RowWatch;

  constructor(tensor: GgufTensor) {
    this.watch = new RowWatch(tensor);
  }

  add(more: MeasuredRows, at: number, width: number): void {
    this.watch.take(at, width, more);
    this.zeros += more.zeros;
    this.nans += more.nans;
    this.infinities += more.infinities;
    if (this.firstNotFinite < 0 && more.firstNotFinite >= 0) this.firstNotFinite = at + more.firstNotFinite;
    if (more.count > 0) {
      const isFirst = this.count === 0;
      if (isFirst || Math.max(-more.min, more.max) > Math.max(-this.min, this.max)) this.largest = at + more.largest;
      this.min = isFirst ? more.min : Math.min(this.min, more.min);
      this.max = isFirst ? more.max : Math.max(this.max, more.max);
    }
    join(this, more);
    if (more.distance === null) return;
    this.compared += more.distance.compared;
    this.error += more.distance.error;
    this.energy += more.distance.energy;
    this.product += more.distance.product;
    this.own += more.distance.own;
    const { farthest, farthestAt } = more.distance;
    if (farthestAt < 0 || (this.farthestAt >= 0 && farthest <= this.farthest)) return;
    this.farthest = farthest;
    this.farthestAt = at + farthestAt;
  }
}

export const relativeOf = (error: number, energy: number): number =>
  energy === 0 ? (error === 0 ? 0 : Infinity) : Math.sqrt(error / energy);

export const decibelsOf = (relative: number): number => -20 * Math.log10(relative);

function differenceOf(tensor: GgufTensor, sums: Sums): Difference {
  const { compared, error, energy, product, own, watch } = sums;
  const columns = tensor.dims[0] ?? 1;
  const { worstRow, worstError, worstEnergy } = watch.worst;
  const place = placeOf(tensor, worstRow < 0 ? -1 : worstRow * columns);
  const farthest = placeOf(tensor, sums.farthestAt);
  const size = Math.sqrt(own) * Math.sqrt(energy);
  const relative = relativeOf(error, energy);
  return {
    rmse: compared === 0 ? 0 : Math.sqrt(error / compared),
    relative,
    decibels: decibelsOf(relative),
    farthest: farthest === null ? null : { place: farthest, difference: sums.farthest },
    cosine: size === 0 ? (own === energy ? 1 : 0) : Math.max(-1, Math.min(1, product / size)),
    compared,
    worst:
      place === null
        ? null
        : { place, relative: relativeOf(worstError, worstEnergy), meanSquare: worstError / columns },
    meanSquare: compared === 0 ? 0 : energy / compared,
  };
}

/** The tensor of this name and shape in another file. */
function sameTensor(against: GgufFile, { name, dims }: GgufTensor): GgufTensor {
  const other = against.tensor(name);
  if (other?.dims.join() === dims.join()) return other;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[tensors] ${name} in ${against.name}: got ${other === undefined ? "none" : `[${other.dims.join(", ")}]`}, expected [${dims.join(", ")}]`,
    { hint: "Compare with a file of the same model." },
  );
}

async function histogramOf(
  file: GgufFile,
  tensor: GgufTensor,
  { min, max, bars }: { readonly min: number; readonly max: number; readonly bars: number },
  options: ScanOptions,
): Promise<Histogram> {
  const counts = new Array<number>(bars).fill(0);
  const histogram = { from: min, to: max, bars };
  for await (const { measured } of measuredPieces(file, tensor, options, { histogram }))
    measured.counts.forEach((count, bar) => (counts[bar] = (counts[bar] ?? 0) + count));
  return { from: min, to: max, counts };
}

interface Cut {
  /** Place of the first value. */
  readonly at: number;
  readonly count: number;
  /** Values of a row, or of the part of one where a row is longer than a piece. */
  readonly width: number;
}

function* cutsOf({ dims, elements }: GgufTensor): Generator<Cut> {
  const columns = dims[0] ?? 1;
  const rows = Math.floor(PIECE / columns);
  for (let at = 0; at < elements;) {
    const count = rows > 0 ? Math.min(rows * columns, elements - at) : Math.min(PIECE, columns - (at % columns));
    yield { at, count, width: rows > 0 ? columns : count };
    at += count;
  }
}

export const elementOf = ({ name, type }: GgufTensor): ElementType => {
  if (type.element !== undefined) return type.element;
  throw new WorkbenchError("UNSUPPORTED_TENSOR_TYPE", `[tensors] ${name}: ${type.name} cannot be unpacked`, {
    hint: "Its bytes can be kept and copied, but not looked at.",
  });
};

const bytesAt = async (file: GgufFile, tensor: GgufTensor, { at, count }: Cut, signal: AbortSignal | undefined) => {
  const perValue = tensor.byteLength / tensor.elements;
  return file.readTensor(tensor, { offset: at * perValue, length: count * perValue, signal });
};

/** The bytes of a tensor, piece by piece; the next one is read while this one is used. */
export async function* piecesOf(
  file: GgufFile,
  tensor: GgufTensor,
  { signal, onBytes }: Pick<ScanOptions, "signal" | "onBytes">,
): AsyncGenerator<Cut & { readonly bytes: Uint8Array }> {
  const cuts = cutsOf(tensor);
  const start = (): { readonly cut: Cut; readonly bytes: Promise<Uint8Array> } | undefined => {
    const next = cuts.next();
    if (next.done === true) return undefined;
    const bytes = bytesAt(file, tensor, next.value, signal);
    // Its rejection is delivered by the await below; until then it must not count as unhandled.
    bytes.catch(() => undefined);
    return { cut: next.value, bytes };
  };
  for (let now = start(); now !== undefined;) {
    throwIfCancelled(signal);
    const bytes = await now.bytes;
    const next = start();
    try {
      yield { ...now.cut, bytes };
    } finally {
      // The file may be closed when this ends early.
      await next?.bytes.catch(() => undefined);
    }
    onBytes?.(bytes.byteLength);
    now = next;
  }
}

async function* measuredPieces(
  file: GgufFile,
  tensor: GgufTensor,
  options: ScanOptions,
  {
    other,
    histogram = null,
  }: {
    readonly other?: { readonly file: GgufFile; readonly tensor: GgufTensor } | undefined;
    readonly histogram?: { readonly from: number; readonly to: number; readonly bars: number } | null;
  },
): AsyncGenerator<Cut & { readonly measured: MeasuredRows }> {
  const type = elementOf(tensor);
  for await (const piece of piecesOf(file, tensor, options)) {
    const against =
      other === undefined
        ? null
        : { type: elementOf(other.tensor), bytes: await bytesAt(other.file, other.tensor, piece, options.signal) };
    const rows = { type, bytes: piece.bytes, columns: piece.width, against, histogram };
    yield { ...piece, measured: await options.measure(rows, options.signal) };
  }
}
