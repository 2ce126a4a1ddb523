/**
 * The paint of each box: shares of work by device, the quantity of the current mode, its segments.
 * One pass over the nodes; a mode switch recomputes only this.
 */
import { DEVICES } from "../../main/contract/views/common.ts";
import { BOX_KINDS } from "../graph/lift.ts";
import type { ColorStop } from "../graph/nodeData.ts";
import { rampColor } from "../graph/nodeData.ts";
import type { GraphMode, Picture } from "./graphModes.ts";
import { isResultMode } from "./graphModes.ts";
import { heatStep, logShare, NOTHING_KNOWN, weightColors } from "../ui/weightColors.ts";
import { segmentColor } from "./segmentFrames.ts";

export interface PaintColumns {
  readonly device: ArrayLike<number> | null;
  readonly work: ArrayLike<number> | null;
  readonly segment: ArrayLike<number> | null;
  /** One quantity or legend number per node, for the modes that have one. */
  readonly values: ArrayLike<number> | null;
  /** The names for legend numbers. */
  readonly legend?: readonly string[];
  /** The colours of numbers from a file. */
  readonly gradient?: readonly ColorStop[];
}

export interface Paint {
  readonly mode: GraphMode;
  /** Device code that does most of the box's work. */
  readonly device: Uint8Array;
  /** Per box DEVICES.length shares that add up to one (or to zero without a route). */
  readonly shares: Float32Array;
  /** Share of the whole program's work. */
  readonly work: Float32Array;
  /** The segments of its nodes; empty but in the mode that shows them. */
  readonly segments: readonly (readonly number[])[];
  /** Legend numbers of the types of its weights; empty but in the mode that shows them. */
  readonly types: readonly (readonly number[])[];
  /** Sum (time, bytes), largest (error), or legend number of its first weight (type); NaN where nothing is known. */
  readonly value: Float32Array;
  /** Colour of the quantity; null where the device colours. */
  readonly heat: readonly (string | null)[];
  readonly low: number;
  readonly high: number;
}

/** native, decomposed, unsupported: three steps of the heat scale, none of which sinks into a dark ground. */
export const mlxColor = (state: number): string => heatStep(0.45 + 0.275 * (state - 1));

export function paintScene({ scene, model }: Picture, mode: GraphMode, columns: PaintColumns): Paint {
  const { boxCount } = scene;
  const kinds = DEVICES.length;
  const shares = new Float32Array(boxCount * kinds);
  const counts = new Float32Array(boxCount * kinds);
  const work = new Float32Array(boxCount);
  const segments = mode === "segment" ? Array.from({ length: boxCount }, (): number[] => []) : [];
  const types = mode === "type" ? Array.from({ length: boxCount }, (): number[] => []) : [];
  const value = new Float32Array(boxCount).fill(isResultMode(mode) || mode === "type" ? Number.NaN : 0);
  for (let node = 0; node < model.view.nodeCount; node++) {
    const share = columns.work?.[node] ?? 0;
    const device = columns.device?.[node] ?? 0;
    const nodeSegment = mode === "segment" ? (columns.segment?.[node] ?? -1) : -1;
    const nodeValue = columns.values?.[node] ?? 0;
    for (
      let box = scene.boxOfNode[node] ?? -1, steps = 0;
      box >= 0 && steps < 64;
      box = scene.parent[box] ?? -1, steps++
    ) {
      work[box] = (work[box] ?? 0) + share;
      if (device !== 0) {
        shares[box * kinds + device] = (shares[box * kinds + device] ?? 0) + share;
        counts[box * kinds + device] = (counts[box * kinds + device] ?? 0) + 1;
      }
      if (nodeSegment >= 0) addNew(segments[box] ?? [], nodeSegment);
      if (Number.isNaN(nodeValue)) continue;
      if (mode === "type") addNew(types[box] ?? [], nodeValue);
      value[box] = together(mode, value[box] ?? 0, nodeValue);
    }
  }
  const device = new Uint8Array(boxCount);
  for (let box = 0; box < boxCount; box++) device[box] = settleShares(shares, counts, box * kinds, kinds);
  const { low, high } = mode === "data" ? wholeRange(value, scene.kind) : rangeOf(value, scene.kind);
  return {
    mode,
    device,
    shares,
    work,
    segments,
    types,
    value,
    heat: mode === "segment" ? segments.map(segmentHeat) : heatOf(mode, value, low, high, columns),
    low,
    high,
  };
}

/** Neighbours mostly lie in the same segment. */
function addNew(segments: number[], segment: number): void {
  if (segments.at(-1) !== segment && !segments.includes(segment)) segments.push(segment);
}

/** A box through which a cut goes has no colour of one segment. */
function segmentHeat(segments: readonly number[]): string | null {
  const [only, more] = segments;
  return only === undefined ? null : more === undefined ? segmentColor(only) : NOTHING_KNOWN;
}

/** Beyond these the numbers would not fit on a card. */
const MOST_RANGES = 3;

/** "segment 2"; "segments 1–3, 5" of a group that cuts go through; "9 segments, 1 to 17" where they are many. */
export function segmentText(segments: readonly number[]): string {
  const sorted = [...segments].sort((a, b) => a - b);
  const ranges: [first: number, last: number][] = [];
  for (const segment of sorted) {
    const open = ranges.at(-1);
    if (open?.[1] === segment - 1) open[1] = segment;
    else ranges.push([segment, segment]);
  }
  const [first, last] = [ranges[0]?.[0], ranges.at(-1)?.[1]];
  if (first === undefined || last === undefined) return "";
  if (first === last) return `segment ${first + 1}`;
  if (ranges.length > MOST_RANGES) return `${sorted.length} segments, ${first + 1} to ${last + 1}`;
  return `segments ${ranges.map(([from, to]) => (from === to ? String(from + 1) : `${from + 1}–${to + 1}`)).join(", ")}`;
}

/** Times and bytes add up; of errors the largest counts, of what MLX does the worst, of types the first. A number takes the place of NaN. */
function together(mode: GraphMode, sum: number, next: number): number {
  if (Number.isNaN(sum)) return next;
  if (mode === "type") return sum;
  return mode === "error" || mode === "mapped" || mode === "data" ? Math.max(sum, next) : sum + Math.max(0, next);
}

/** Makes the shares of one box add up to one, by number of ops where no work is known; returns the largest. */
function settleShares(shares: Float32Array, counts: Float32Array, first: number, kinds: number): number {
  let total = 0;
  for (let k = 0; k < kinds; k++) total += shares[first + k] ?? 0;
  const source = total > 0 ? shares : counts;
  if (total === 0) for (let k = 0; k < kinds; k++) total += counts[first + k] ?? 0;
  let best = 0;
  let most = 0;
  for (let k = 0; k < kinds; k++) {
    const share = total > 0 ? (source[first + k] ?? 0) / total : 0;
    shares[first + k] = share;
    if (share > most) [best, most] = [k, share];
  }
  return best;
}

/** Frames hold what their boxes hold and would hide them: they are left out of the scale. */
function rangeOf(value: Float32Array, kind: Uint8Array): { readonly low: number; readonly high: number } {
  let [low, high] = [Infinity, 0];
  value.forEach((v, box) => {
    if (kind[box] === BOX_KINDS.frame || !(v > 0)) return;
    low = Math.min(low, v);
    high = Math.max(high, v);
  });
  return { low: Number.isFinite(low) ? low : 0, high };
}

/** Numbers from elsewhere may be below zero: the scale is linear. */
function wholeRange(value: Float32Array, kind: Uint8Array): { readonly low: number; readonly high: number } {
  let [low, high] = [Infinity, -Infinity];
  value.forEach((v, box) => {
    if (kind[box] === BOX_KINDS.frame || Number.isNaN(v)) return;
    low = Math.min(low, v);
    high = Math.max(high, v);
  });
  return Number.isFinite(low) ? { low, high } : { low: 0, high: 0 };
}

function heatOf(
  mode: GraphMode,
  value: Float32Array,
  low: number,
  high: number,
  { legend = [], gradient = [] }: Pick<PaintColumns, "legend" | "gradient">,
): readonly (string | null)[] {
  if (mode === "device" || mode === "planned") return Array.from(value, () => null);
  if (mode === "type") {
    const colors = weightColors(legend);
    return Array.from(value, (v) => colors[v] ?? NOTHING_KNOWN);
  }
  if (mode === "data") {
    const span = high - low;
    return Array.from(value, (v) =>
      Number.isNaN(v) ? NOTHING_KNOWN : rampColor(gradient, span > 0 ? (v - low) / span : 1),
    );
  }
  if (mode === "mapped") return Array.from(value, (v) => (v > 0 ? mlxColor(v) : NOTHING_KNOWN));
  return Array.from(value, (v) => (Number.isNaN(v) ? NOTHING_KNOWN : heatStep(logShare(v, low, high))));
}
