/**
 * Rows of a weight in another type. Types only. They are in `ir` because the engine that packs and the quantiser that asks for it
 * see no other folder in common.
 */
import type { ElementType } from "./dtype.ts";

export interface RowsToRepack {
  readonly from: ElementType;
  readonly bytes: Uint8Array;
  readonly to: ElementType;
  readonly columns: number;
  /** How much each column matters; null: all the same. */
  readonly importance: Float32Array | null;
}

export interface RepackedRows {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Squares of the values, of their error, and of that times the importance. */
  readonly energy: number;
  readonly error: number;
  readonly weighted: number;
  /** Values that are in none of these sums. */
  readonly notFinite: number;
}

export type Repack = (rows: RowsToRepack, signal?: AbortSignal) => Promise<RepackedRows>;
