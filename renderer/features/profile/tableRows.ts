/** Rows of the tables: by op, by layer, bottom-up; of the whole or of a selection; sorted. The numbers are those of sums.ts. */
import type { Piece } from "../../../main/contract/recordings/pieces.ts";
import type { Phase, Scope, Sum } from "../../../main/contract/recordings/sums.ts";
import { bottomUp, layerOf, layerSums, opSums, phaseScope, totalOf } from "../../../main/contract/recordings/sums.ts";
import type { Selection } from "../../../main/contract/recordings/tracks.ts";
import { selectionScope } from "../../../main/contract/recordings/tracks.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { peakShareOf } from "../../../main/contract/views/run.ts";
import type { PeakShare } from "../../../main/contract/views/run.ts";

export type Grouping = "op" | "layer" | "bottom-up";
export type SortKey = "name" | "count" | "seconds" | "mean" | "min" | "max" | "bandwidth";
export interface Sorting {
  readonly key: SortKey;
  readonly descends: boolean;
}

export interface TableRow extends Sum {
  /** What leads to it in the bottom-up tree, itself included. */
  readonly path: readonly Sum[];
  readonly id: string;
  readonly opens: boolean;
  readonly bandwidth: number | null;
  readonly peak: PeakShare;
}

export const scopeOf = (profile: ProfileView, phase: Phase, selection: Selection | null): Scope =>
  selection === null ? phaseScope(profile, phase) : selectionScope(profile, selection);

const DEEPEST = 3;

export interface TableRequest {
  readonly scope: Scope;
  readonly grouping: Grouping;
  readonly sorting: Sorting;
  /** Ids of rows whose branches are shown. */
  readonly open: ReadonlySet<string>;
}

export function tableRows(profile: ProfileView, { scope, grouping, sorting, open }: TableRequest): readonly TableRow[] {
  const rowOf = (sum: Sum, path: readonly Sum[]): TableRow => {
    const own = [...path, sum];
    const reads = sum.kind === "op" && sum.bytes > 0 && grouping !== "layer";
    const bandwidth = reads ? sum.bytes / sum.seconds : null;
    const peakShare =
      bandwidth === null || profile.peakBandwidth === null ? null : bandwidth / profile.peakBandwidth.value;
    return {
      ...sum,
      path: own,
      id: own.map(({ device, name }) => `${device} ${name}`).join(" / "),
      opens: grouping === "bottom-up" && sum.kind === "op" && own.length < DEEPEST,
      ...{ bandwidth, peak: peakShareOf({ ...sum, peakShare }) },
    };
  };
  const sorted = (rows: readonly TableRow[]): readonly TableRow[] => rows.toSorted(orderBy(sorting));
  if (grouping !== "bottom-up") {
    const sums = grouping === "op" ? opSums(profile, scope) : layerSums(profile, scope);
    return sorted(sums.map((sum) => rowOf(sum, [])));
  }
  const tops = bottomUp(profile, scope, [], 0);
  const whole = totalOf(tops);
  const grow = (path: readonly Sum[]): readonly TableRow[] =>
    sorted(bottomUp(profile, scope, path, whole).map((sum) => rowOf(sum, path))).flatMap((row) => [
      row,
      ...(row.opens && open.has(row.id) ? grow(row.path) : []),
    ]);
  return grow([]);
}

function orderBy({ key, descends }: Sorting): (a: TableRow, b: TableRow) => number {
  const sign = descends ? -1 : 1;
  if (key === "name") return (a, b) => sign * a.name.localeCompare(b.name, "en", { numeric: true });
  return (a, b) => sign * ((a[key] ?? -1) - (b[key] ?? -1));
}

const LEVELS: readonly ((piece: Piece) => string)[] = [
  ({ op }) => op,
  layerOf,
  ({ op, label }) => (label === "" ? op : label),
];

/** Whether a piece is one of those that a row sums up. */
export const matches =
  ({ path }: TableRow, grouping: Grouping) =>
  (piece: Piece): boolean =>
    path.every(({ device, name }, level) => {
      const nameOf = grouping === "layer" ? layerOf : LEVELS[level];
      return piece.device === device && nameOf?.(piece) === name;
    });
