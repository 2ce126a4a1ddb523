/**
 * Measures the error of stored rows: decompresses them as Core ML would and compares each element
 * with the file's own value. Slow here (37 to 59 ns an element), so it samples. A native
 * `MeasureRows` measures every element.
 */
import type { ElementType } from "../../../ir/dtype.ts";
import type { ConvertedRows, Dequantize } from "./convert.ts";
import { reconstruct } from "./convert.ts";
import type { WeightForm } from "./forms.ts";

/** Rows of one tensor, as they are in the file and as they are stored. */
export interface StoredRun {
  readonly type: ElementType;
  readonly original: Uint8Array;
  /** Elements: whole rows. */
  readonly count: number;
  readonly form: WeightForm;
  readonly parts: ConvertedRows;
  readonly fold: number;
}

export interface ErrorSums {
  /** Sum of the squares of the file's values, and of the differences from them. */
  readonly energy: number;
  readonly error: number;
  /** Elements in neither sum: not finite in the file, and finite there but not as they are stored. */
  readonly notFinite: number;
  readonly overflowed: number;
}

/** Measures while others work; the run's arrays stay as they are until it has settled. */
export type MeasureRows = (run: StoredRun, signal?: AbortSignal) => Promise<ErrorSums>;

/** The same at once, by the definition of each form. */
export function measureRows(run: StoredRun, dequantize: Dequantize): ErrorSums {
  const exact = dequantize(run.type, run.original, run.count);
  const stored = reconstruct(run.form, run.parts, run.count, run.fold);
  let [energy, error, notFinite, overflowed] = [0, 0, 0, 0];
  for (let i = 0; i < run.count; i++) {
    const [value, read] = [exact[i] as number, stored[i] as number];
    if (!Number.isFinite(value)) notFinite += 1;
    else if (!Number.isFinite(read)) overflowed += 1;
    else {
      energy += value * value;
      error += (read - value) ** 2;
    }
  }
  return { energy, error, notFinite, overflowed };
}
