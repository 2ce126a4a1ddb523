/**
 * Statistics of rows of a weight. Types only: the engine that measures and the code that asks for it see no other folder in
 * common.
 */
import type { ElementType } from "./dtype.ts";

export interface RowsToMeasure {
  readonly type: ElementType;
  readonly bytes: Uint8Array;
  readonly columns: number;
  /** The same rows of another file. */
  readonly against: { readonly type: ElementType; readonly bytes: Uint8Array } | null;
  /** With it, the values are only counted into bars. */
  readonly histogram: { readonly from: number; readonly to: number; readonly bars: number } | null;
}

/** What `flags` says of a row. */
export const ROW_OF_ZEROS = 1;
export const ROW_NOT_FINITE = 2;

/** Sums over values that are finite in both files. */
export interface RowDistance {
  readonly compared: number;
  /** Squares of the difference, and of the other file's values. */
  readonly error: number;
  readonly energy: number;
  /** Products of both, and squares of the own values. */
  readonly product: number;
  readonly own: number;
  /** The row with the largest error for its energy; −1 where none was compared. */
  readonly worstRow: number;
  readonly worstError: number;
  readonly worstEnergy: number;
  /** The largest difference of two values, and its place in these rows; −1 where none was compared. */
  readonly farthest: number;
  readonly farthestAt: number;
}

/** Range, mean and spread are of the finite values. */
export interface MeasuredRows {
  readonly count: number;
  readonly zeros: number;
  readonly nans: number;
  readonly infinities: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  /** Sum of squared distances to the mean. */
  readonly spread: number;
  /** Places of values in these rows; −1 for none. `largest` by magnitude. */
  readonly firstNotFinite: number;
  readonly largest: number;
  /** For each row 0, ROW_OF_ZEROS or ROW_NOT_FINITE. */
  readonly flags: Uint8Array;
  readonly counts: Float64Array;
  readonly distance: RowDistance | null;
}

export type Measure = (rows: RowsToMeasure, signal?: AbortSignal) => Promise<MeasuredRows>;
