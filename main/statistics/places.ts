/** Where in a tensor a value stands: expert, row, column; in words for people. */
import type { GgufTensor } from "../formats/gguf/file.ts";

export interface Place {
  /** Of the expert where there is one. */
  readonly row: number;
  readonly expert: number | null;
  readonly column: number;
  /** The block of the row, in packed types. */
  readonly block: number | null;
}

/** Of the value at `at`; null for a place that is none. */
export function placeOf({ dims, type }: GgufTensor, at: number): Place | null {
  if (at < 0) return null;
  const [columns = 1, rows = 1] = dims;
  const row = Math.floor(at / columns);
  const column = at % columns;
  return {
    row: row % rows,
    expert: dims.length < 3 ? null : Math.floor(row / rows),
    column,
    block: type.blockSize === 1 ? null : Math.floor(column / type.blockSize),
  };
}

export const rowText = ({ row, expert }: Place): string =>
  expert === null ? `row ${row}` : `row ${row} of expert ${expert}`;

/** A vector has no rows to name. */
export function placeText(place: Place, { dims }: Pick<GgufTensor, "dims">): string {
  const within = place.block === null ? `column ${place.column}` : `block ${place.block} (column ${place.column})`;
  return isVector(dims) ? `value ${place.column}` : `${rowText(place)}, ${within}`;
}

/** One row: a norm or a bias. */
export const isVector = (dims: readonly number[]): boolean => dims.slice(1).every((size) => size === 1);
