/** Columns of the table: as many as there is room for, the most needed ones first. */
import type { TensorSort } from "../../../main/contract/views/tensors.ts";

export interface Column {
  readonly id: "name" | "layer" | "shape" | "type" | "bits" | "parameters" | "bytes" | "form" | "held" | "error";
  readonly title: string;
  readonly sort: TensorSort | null;
  /** Pixels that it needs. */
  readonly width: number;
  /** Those of a small number are added first, as long as there is room; 0 is always there. */
  readonly spare: number;
}

const NAME_LEAST = 96;
const NAME_MOST = 420;
/** Of a character of the table's font. */
const CHARACTER = 6.7;
const GAP = 12;
const EDGES = 28 + 16;

const COLUMNS: readonly Column[] = [
  { id: "name", title: "tensor", sort: "name", width: NAME_LEAST, spare: 0 },
  { id: "layer", title: "layer", sort: "layer", width: 40, spare: 3 },
  { id: "shape", title: "shape", sort: null, width: 100, spare: 4 },
  { id: "type", title: "type", sort: "type", width: 52, spare: 0 },
  { id: "bits", title: "bits", sort: null, width: 44, spare: 7 },
  { id: "parameters", title: "parameters", sort: "parameters", width: 76, spare: 5 },
  { id: "bytes", title: "size", sort: "bytes", width: 64, spare: 0 },
  { id: "form", title: "held as", sort: null, width: 216, spare: 6 },
  { id: "held", title: "on device", sort: "held", width: 68, spare: 2 },
  { id: "error", title: "error", sort: "error", width: 68, spare: 0 },
];

export interface ColumnsAsked {
  /** Pixels of the table. */
  readonly width: number;
  /** Characters of the longest name. */
  readonly nameLength: number;
  readonly isHeld: boolean;
  readonly isCompared: boolean;
}

export interface ShownColumns {
  readonly columns: readonly Column[];
  /** For `grid-template-columns`. */
  readonly template: string;
  /** Pixels that the table takes with names in full. */
  readonly whole: number;
}

export function columnsFor({ width, nameLength, isHeld, isCompared }: ColumnsAsked): ShownColumns {
  const known = COLUMNS.filter(
    ({ id }) => (isHeld || (id !== "form" && id !== "held")) && (isCompared || id !== "error"),
  );
  const name = Math.min(NAME_MOST, Math.max(NAME_LEAST, Math.ceil(nameLength * CHARACTER)));
  const taken = (columns: readonly Column[], named: number): number =>
    columns.reduce((sum, column) => sum + (column.id === "name" ? named : column.width) + GAP, EDGES - GAP);
  // A name that is cut off somewhat is better than a column that is not there.
  const named = Math.min(name, 200);
  const kept = new Set(known.filter(({ spare }) => spare === 0));
  for (const column of known.filter(({ spare }) => spare > 0).sort((a, b) => a.spare - b.spare))
    if (taken([...kept, column], named) <= width) kept.add(column);
  const columns = known.filter((column) => kept.has(column));
  const template = columns
    .map(({ id, width: own }) => (id === "name" ? `minmax(${NAME_LEAST}px, ${name}px)` : `${own}px`))
    .join(" ");
  return { columns, template, whole: taken(known, name) };
}
