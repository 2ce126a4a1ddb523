/**
 * An importance matrix: for each weight the mean square of what its columns were multiplied by, over a text. Columns that see
 * large values are packed more exactly. For experts, one row each.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";

export class Importance {
  readonly #means: ReadonlyMap<string, readonly Float32Array[]>;

  constructor(means: ReadonlyMap<string, readonly Float32Array[]>) {
    this.#means = means;
  }

  get size(): number {
    return this.#means.size;
  }

  /** One for each matrix of the tensor; undefined for a tensor that the text did not reach. */
  of(tensor: string, columns: number, matrices: number): readonly Float32Array[] | undefined {
    const means = this.#means.get(tensor);
    if (means === undefined) return undefined;
    if (means.length === matrices && means.every((row) => row.length === columns)) return means;
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[imatrix] ${tensor}: got ${means.length} × ${means[0]?.length ?? 0} numbers, expected ${matrices} × ${columns}`,
      { hint: "This importance matrix was made for another model." },
    );
  }
}
