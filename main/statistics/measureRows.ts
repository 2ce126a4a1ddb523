/** What the CPU engine's `measure` means, in TypeScript: for types that it does not unpack, and where no engine was built. */
import type { Measure, MeasuredRows, RowDistance, RowsToMeasure } from "../ir/measure.ts";
import { ROW_NOT_FINITE, ROW_OF_ZEROS } from "../ir/measure.ts";
import { isUnpacked } from "../ir/dtype.ts";
import type { Numbers } from "./unpack.ts";
import { unpack } from "./unpack.ts";

/** With the engine where it is and knows the types, else in TypeScript. */
export const measurer =
  (native: Measure | undefined): Measure =>
  (rows, signal) =>
    native !== undefined && isUnpacked(rows.type) && (rows.against === null || isUnpacked(rows.against.type))
      ? native(rows, signal)
      : Promise.resolve(measureRows(rows));

type Changing<T> = { -readonly [K in keyof T]: T[K] };

export function measureRows({ type, bytes, columns, against, histogram }: RowsToMeasure): MeasuredRows {
  const values = unpack(type, bytes);
  const theirs = against === null ? null : unpack(against.type, against.bytes);
  const rows = values.length / columns;
  const all: Changing<MeasuredRows> = {
    ...{ count: 0, zeros: 0, nans: 0, infinities: 0, min: 0, max: 0, mean: 0, spread: 0 },
    firstNotFinite: -1,
    largest: -1,
    flags: new Uint8Array(rows),
    counts: new Float64Array(histogram?.bars ?? 0),
    distance: theirs === null ? null : distanceOf(values, theirs, columns),
  };
  if (histogram !== null) countBars(values, histogram, all.counts);
  else for (let row = 0; row < rows; row++) addRow(all, values, row, columns);
  return all;
}

function addRow(all: Changing<MeasuredRows>, values: Numbers, row: number, columns: number): void {
  const [from, to] = [row * columns, (row + 1) * columns];
  let [sum, count, zeros] = [0, 0, 0];
  for (let i = from; i < to; i++) {
    const value = values[i] ?? 0;
    if (value - value !== 0) {
      if (Number.isNaN(value)) all.nans++;
      else all.infinities++;
      if (all.firstNotFinite < 0) all.firstNotFinite = i;
      continue;
    }
    if (all.largest < 0) [all.min, all.max, all.largest] = [value, value, i];
    if (Math.abs(value) > Math.max(-all.min, all.max)) all.largest = i;
    if (value < all.min) all.min = value;
    if (value > all.max) all.max = value;
    if (value === 0) zeros++;
    sum += value;
    count++;
  }
  if (count < columns) all.flags[row] = ROW_NOT_FINITE;
  else if (zeros === columns) all.flags[row] = ROW_OF_ZEROS;
  all.zeros += zeros;
  if (count === 0) return;
  const mean = sum / count;
  let spread = 0;
  for (let i = from; i < to; i++) {
    const apart = (values[i] ?? 0) - mean;
    if (apart - apart === 0) spread += apart * apart;
  }
  join(all, { count, mean, spread });
}

/** Joins means and sums of squared distances of two sets of values. */
export function join(
  all: { count: number; mean: number; spread: number },
  { count, mean, spread }: { readonly count: number; readonly mean: number; readonly spread: number },
): void {
  if (count === 0) return;
  const sum = all.count + count;
  const apart = mean - all.mean;
  all.spread += spread + (apart * apart * all.count * count) / sum;
  all.mean += (apart * count) / sum;
  all.count = sum;
}

function distanceOf(values: Numbers, theirs: Numbers, columns: number): RowDistance {
  const all = { ...{ compared: 0, error: 0, energy: 0, product: 0, own: 0 }, ...NO_WORST, farthest: 0, farthestAt: -1 };
  for (let from = 0, row = 0; from < values.length; from += columns, row++) {
    let [compared, error, energy, product, own] = [0, 0, 0, 0, 0];
    for (let i = from; i < from + columns; i++) {
      const [x, y] = [values[i] ?? 0, theirs[i] ?? 0];
      if (x - x !== 0 || y - y !== 0) continue;
      compared++;
      error += (x - y) * (x - y);
      energy += y * y;
      product += x * y;
      own += x * x;
      const apart = Math.abs(x - y);
      if (all.farthestAt < 0 || apart > all.farthest) {
        all.farthest = apart;
        all.farthestAt = i;
      }
    }
    all.compared += compared;
    all.error += error;
    all.energy += energy;
    all.product += product;
    all.own += own;
    if (compared > 0) keepWorse(all, { worstRow: row, worstError: error, worstEnergy: energy });
  }
  return all;
}

export interface WorstRow {
  readonly worstRow: number;
  readonly worstError: number;
  readonly worstEnergy: number;
}
export const NO_WORST: WorstRow = { worstRow: -1, worstError: 0, worstEnergy: 0 };

/** error / energy is larger, without a division by an energy of zero; a row of zeros that is one in both files has no error. */
export function keepWorse(all: Changing<WorstRow>, { worstRow, worstError, worstEnergy }: WorstRow): void {
  if (worstRow < 0) return;
  const isWorse = all.worstError === 0 ? worstError > 0 : worstError * all.worstEnergy > all.worstError * worstEnergy;
  if (all.worstRow >= 0 && !isWorse) return;
  Object.assign(all, { worstRow, worstError, worstEnergy });
}

export function countBars(
  values: ArrayLike<number>,
  { from, to, bars }: { readonly from: number; readonly to: number; readonly bars: number },
  counts: Float64Array,
): void {
  const scale = to > from ? bars / (to - from) : 0;
  for (let i = 0; i < values.length; i++) {
    const bar = ((values[i] ?? NaN) - from) * scale;
    if (!(bar >= 0) || bar === Infinity) continue;
    const at = Math.min(bars - 1, Math.floor(bar));
    counts[at] = (counts[at] ?? 0) + 1;
  }
}
