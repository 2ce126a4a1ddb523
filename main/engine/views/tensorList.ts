/** The tensors of a file in pages and in groups: filtered, sorted and summed here, so that the window never holds them all. */
import { holdsWords, tensorWords } from "../../contract/tensorQuery.ts";
import type { HeldTensor, TensorPage, TensorRow } from "../../contract/views/model.ts";
import type { TensorGroup, TensorGrouping, TensorGroups, TensorSort, TensorSum } from "../../contract/views/tensors.ts";
import type { GgufFile, GgufTensor } from "../../formats/gguf/file.ts";
import type { ComparedTensor } from "../../statistics/compare.ts";
import { ErrorSums } from "../../statistics/compare.ts";

/** What is known of the tensors besides the file. */
export interface ListContext {
  /** How a subject holds them. */
  readonly held?: { readonly sentence: string; readonly of: (tensor: GgufTensor) => HeldTensor } | undefined;
  /** Differences to another file, by name. */
  readonly errors?: ReadonlyMap<string, ComparedTensor> | undefined;
}

export interface ListOptions extends ListContext {
  readonly query: string;
  readonly group: TensorGrouping;
}

export interface PageOptions extends ListOptions {
  readonly sort: TensorSort;
  readonly descending: boolean;
  readonly offset: number;
  readonly limit: number;
}

const LAYER = /^blk\.(\d+)\.(.+)$/;

function tensorRow(tensor: GgufTensor, { held }: ListContext): TensorRow {
  const match = LAYER.exec(tensor.name);
  return {
    name: tensor.name,
    shape: tensor.shape,
    type: tensor.type.name.toUpperCase(),
    parameters: tensor.elements,
    bytes: tensor.byteLength,
    bitsPerWeight: (tensor.byteLength * 8) / tensor.elements,
    layer: match ? Number(match[1]) : null,
    role: (match?.[2] ?? tensor.name).replace(/\.(weight|bias)$/, ""),
    part: tensor.part,
    offset: tensor.offset,
    held: held?.of(tensor) ?? null,
  };
}

function matchingRows(file: GgufFile, options: ListOptions): TensorRow[] {
  const words = tensorWords(options.query);
  return file.tensors
    .filter(({ name, type, shape }) => holdsWords(words, { name, type: type.name, shape }))
    .map((tensor) => tensorRow(tensor, options));
}

export function tensorPage(file: GgufFile, options: PageOptions): TensorPage {
  const rows = matchingRows(file, options);
  sortRows(rows, options);
  const ordered = options.group === "none" ? rows : groupsOf(rows, options).flatMap((group) => group.rows);
  return {
    total: file.tensors.length,
    matched: rows.length,
    matchedBytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
    rows: ordered.slice(options.offset, options.offset + options.limit),
  };
}

const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function sortRows(rows: TensorRow[], { sort, descending, errors }: PageOptions): void {
  /** What was not compared lies below what is exact; what is beyond all numbers above the rest. */
  const error = ({ name }: TensorRow): number => errors?.get(name)?.relative ?? -1;
  const numbers = (number: (row: TensorRow) => number) => (a: TensorRow, b: TensorRow) => {
    const [left, right] = [number(a), number(b)];
    return left < right ? -1 : left > right ? 1 : 0;
  };
  const orders: Readonly<Record<Exclude<TensorSort, "file">, (a: TensorRow, b: TensorRow) => number>> = {
    name: (a, b) => text(a.name, b.name),
    type: (a, b) => text(a.type, b.type) || text(a.name, b.name),
    parameters: numbers(({ parameters }) => parameters),
    bytes: numbers(({ bytes }) => bytes),
    layer: (a, b) => (a.layer ?? -1) - (b.layer ?? -1) || text(a.role, b.role),
    held: numbers(({ held }) => held?.bytes ?? -1),
    error: numbers(error),
  };
  if (sort !== "file") rows.sort(orders[sort]);
  if (descending) rows.reverse();
}

interface Group {
  readonly key: string;
  readonly title: string;
  readonly rows: TensorRow[];
  bytes: number;
}

/** A file from anywhere may have as many roles as tensors: what lies behind these is one group. */
const MOST_GROUPS = 2000;
const OUTSIDE = "outside of layers";

function groupName({ layer, role, type, held }: TensorRow, by: TensorGrouping): readonly [key: string, title: string] {
  switch (by) {
    case "layer":
      return layer === null ? ["", OUTSIDE] : [String(layer), `layer ${layer}`];
    case "role":
      return [role, role];
    case "type":
      return [type, type];
    case "form":
      return [held?.form ?? "", held?.form ?? "not known"];
    case "none":
      return ["", ""];
  }
}

/** Layers in their order, behind what is in none; others by their bytes. */
function groupsOf(rows: readonly TensorRow[], { group: by }: Pick<ListOptions, "group">): readonly Group[] {
  const found = new Map<string, Group>();
  for (const row of rows) {
    const [key, title] = groupName(row, by);
    const group = found.get(key) ?? { key, title, rows: [], bytes: 0 };
    found.set(key, group);
    group.rows.push(row);
    group.bytes += row.bytes;
  }
  const groups = [...found.values()].sort((a, b) =>
    by === "layer" ? (a.rows[0]?.layer ?? -1) - (b.rows[0]?.layer ?? -1) : b.bytes - a.bytes || text(a.title, b.title),
  );
  if (groups.length <= MOST_GROUPS) return groups;
  const rest = groups.slice(MOST_GROUPS - 1);
  const others = { key: "\u0000others", title: `${rest.length} others`, rows: rest.flatMap((each) => each.rows) };
  return [...groups.slice(0, MOST_GROUPS - 1), { ...others, bytes: rest.reduce((sum, { bytes }) => sum + bytes, 0) }];
}

export function tensorGroups(file: GgufFile, options: ListOptions): TensorGroups {
  const rows = matchingRows(file, options);
  const groups: TensorGroup[] =
    options.group === "none"
      ? []
      : groupsOf(rows, options).map((group) => ({ key: group.key, title: group.title, ...sumOf(group.rows, options) }));
  return { groups, sum: sumOf(rows, options), heldAs: options.held?.sentence ?? null };
}

function sumOf(rows: readonly TensorRow[], { held, errors }: ListContext): TensorSum {
  const sums = new ErrorSums();
  let [parameters, bytes, heldBytes] = [0, 0, 0];
  for (const row of rows) {
    parameters += row.parameters;
    bytes += row.bytes;
    heldBytes += row.held?.bytes ?? 0;
    const error = errors?.get(row.name);
    if (error !== undefined) sums.add(error);
  }
  const { relative } = sums.whole;
  return {
    ...{ tensors: rows.length, parameters, bytes },
    bitsPerWeight: parameters === 0 ? 0 : (bytes * 8) / parameters,
    heldBytes: held === undefined ? null : heldBytes,
    error: sums.tensors === 0 || !Number.isFinite(relative) ? null : relative,
  };
}
