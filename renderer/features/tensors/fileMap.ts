/** The picture of a file: tensors by their bytes, within layers; where each lies, in which order keys go through them, and words. */
import type { TensorPage, TensorRow } from "../../../main/contract/views/model.ts";
import type { ComparedTensor } from "../../../main/contract/views/tensors.ts";
import { bytes, count, errorShare, fineShare, plural, shape } from "../../ui/format.ts";
import type { Box } from "../../ui/treemap.ts";
import { holds, inner, treemap } from "../../ui/treemap.ts";
import { heatStep, logShare, NOTHING_KNOWN, weightColors } from "../../ui/weightColors.ts";

/** A tensor, or what is too small to be asked for one by one. */
export interface Leaf {
  /** null for the small ones. */
  readonly row: TensorRow | null;
  readonly title: string;
  readonly bytes: number;
}

export interface LeafGroup {
  readonly title: string;
  readonly bytes: number;
  readonly leaves: readonly Leaf[];
}

/** Tensors that are drawn; behind them the rest of a file is one box. */
export const MOST_LEAVES = 4000;

/** Layers in their order with the roles of each, behind what is in none. `found` tells of the whole file. */
export function leafGroups(
  rows: readonly TensorRow[],
  found: Pick<TensorPage, "matched" | "matchedBytes">,
): readonly LeafGroup[] {
  const layers = new Map<number, TensorRow[]>();
  for (const row of rows) {
    const layer = row.layer ?? -1;
    const known = layers.get(layer);
    if (known === undefined) layers.set(layer, [row]);
    else known.push(row);
  }
  const groups = [...layers].sort(([a], [b]) => a - b).map(([layer, own]) => layerGroup(layer, own));
  const rest = found.matched - rows.length;
  if (rest <= 0) return groups;
  const size = Math.max(0, found.matchedBytes - sum(rows));
  const title = `${plural(rest, "smaller tensor")}`;
  return [...groups, { title, bytes: size, leaves: [{ row: null, title, bytes: size }] }];
}

const sum = (all: readonly { readonly bytes: number }[]): number => all.reduce((total, each) => total + each.bytes, 0);

function layerGroup(layer: number, rows: readonly TensorRow[]): LeafGroup {
  // Weight and bias of a role stand together, in the order of the file.
  const leaves = rows
    .toSorted((a, b) => a.part - b.part || a.offset - b.offset)
    .map((row): Leaf => ({ row, title: layer < 0 ? row.name.replace(/\.weight$/, "") : row.role, bytes: row.bytes }));
  return { title: layer < 0 ? "outside of layers" : `layer ${layer}`, bytes: sum(rows), leaves };
}

export interface PlacedGroup extends LeafGroup {
  readonly box: Box;
  readonly hasTitle: boolean;
}
export interface PlacedLeaf extends Leaf {
  readonly box: Box;
}
export interface FileMap {
  readonly groups: readonly PlacedGroup[];
  /** In the order in which keys go through them. */
  readonly leaves: readonly PlacedLeaf[];
}

/** Pixels of a group's title, where there is room for one. */
export const TITLE = 14;
const TITLE_WIDTH = 56;
const TITLE_HEIGHT = 44;
const EDGE = 1;

export function placeMap(groups: readonly LeafGroup[], box: Box): FileMap {
  const boxes = treemap(
    groups.map((group) => group.bytes),
    box,
  );
  const placed = groups.map((group, i): PlacedGroup => {
    const own = boxes[i] ?? box;
    return { ...group, box: own, hasTitle: own.width >= TITLE_WIDTH && own.height >= TITLE_HEIGHT };
  });
  const leaves = placed.flatMap(({ box: own, hasTitle, leaves: inside }) => {
    const cut = treemap(
      inside.map((leaf) => leaf.bytes),
      inner(own, EDGE, hasTitle ? TITLE : EDGE),
    );
    return inside.map((leaf, i): PlacedLeaf => ({ ...leaf, box: cut[i] ?? own }));
  });
  return { groups: placed, leaves };
}

export const leafAt = ({ leaves }: FileMap, x: number, y: number): number =>
  leaves.findIndex(({ box }) => holds(box, x, y));

export type Errors = ReadonlyMap<string, ComparedTensor>;

/** By type: as the graph has them. By error: few is dark, and what was not compared is grey. */
export function leafColors(leaves: readonly Leaf[], errors: Errors | null): readonly string[] {
  if (errors !== null) {
    const { low, high } = errorRange(errors);
    return leaves.map(({ row }) => {
      const relative = row === null ? undefined : errors.get(row.name)?.relative;
      return relative === undefined ? NOTHING_KNOWN : errorColor(relative, low, high);
    });
  }
  const colors = typeColors(leaves);
  return leaves.map(({ row }) => (row === null ? NOTHING_KNOWN : (colors.get(row.type) ?? NOTHING_KNOWN)));
}

export function typeColors(leaves: readonly Leaf[]): ReadonlyMap<string, string> {
  const types = [...new Set(leaves.flatMap(({ row }) => row?.type ?? []))];
  const colors = weightColors(types.map((type) => type.toLowerCase()));
  return new Map(types.map((type, i) => [type, colors[i] ?? NOTHING_KNOWN]));
}

/** From here on colours can be told from a dark ground. */
const LEAST_SEEN = 0.25;

export const errorColor = (relative: number | null, low: number, high: number): string =>
  heatStep(LEAST_SEEN + (1 - LEAST_SEEN) * (relative === null ? 1 : logShare(relative, low, high)));

/** Of the errors that are some. */
export function errorRange(errors: Errors): { readonly low: number; readonly high: number } {
  const some = [...errors.values()].flatMap(({ relative }) => (relative === null || relative === 0 ? [] : relative));
  return { low: some.reduce((a, b) => Math.min(a, b), Infinity), high: some.reduce((a, b) => Math.max(a, b), 0) };
}

/** Dark letters on bright boxes. `color` is an rgb() of this picture; others are half transparent greys. */
export function inkOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = (/^rgb\((\d+) (\d+) (\d+)\)$/.exec(color)?.slice(1) ?? []).map(Number);
  return color.startsWith("rgb(") && 0.299 * red + 0.587 * green + 0.114 * blue > 130 ? "#14161a" : "#ffffff";
}

/** Everything that is said of a leaf: for the hint under the pointer, and for screen readers. */
export function leafText({ row, title, bytes: size }: Leaf, whole: number, errors: Errors | null): readonly string[] {
  const part = `${bytes(size)}, ${fineShare(whole === 0 ? 0 : size / whole)} of the file`;
  if (row === null) return [title, part];
  const error = errors?.get(row.name);
  const said =
    error === undefined ? [] : [error.relative === null ? "error beyond all numbers" : errorWords(error.relative)];
  const held = row.held === null ? [] : [`on the device ${bytes(row.held.bytes)}: ${row.held.form}`];
  return [row.name, `${row.type}, ${shape(row.shape)}`, part, ...said, ...held];
}

const errorWords = (relative: number): string => (relative === 0 ? "no error" : `error ${errorShare(relative)}`);

/** The picture in a sentence for each group, largest first. */
export function mapWords(groups: readonly LeafGroup[]): readonly string[] {
  const whole = sum(groups);
  return groups
    .toSorted((a, b) => b.bytes - a.bytes)
    .slice(0, 100)
    .map(
      ({ title, bytes: size, leaves }) =>
        `${title}: ${bytes(size)}, ${fineShare(whole === 0 ? 0 : size / whole)}, ${count(leaves.length)} boxes`,
    );
}
