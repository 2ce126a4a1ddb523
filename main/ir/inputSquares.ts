/**
 * What the matrices of a weight were multiplied by over a text. Types only. They are in `ir` because the runtime that gathers
 * them and the quantiser that reads and writes them see no other folder in common.
 */
export interface InputSquares {
  readonly columns: number;
  /** Sums of squares, one row of columns for each matrix: a weight has one, experts have one each. */
  readonly sums: Float64Array;
  /** Rows that each matrix multiplied. */
  readonly counts: Float64Array;
}

/** By the weight's name in the file. */
export type GatheredInputs = ReadonlyMap<string, InputSquares>;
