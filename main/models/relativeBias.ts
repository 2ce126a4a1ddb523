/**
 * T5's bias of attention scores: a table has a row for each bucket of distances and a column for each head. Near distances have
 * a bucket each, farther ones share some, in steps that grow like logarithms, and all beyond 128 the last. The layers share the
 * table of the first; in files of UMT5 each has its own.
 */
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { ModelGraph } from "./blocks.ts";
import type { ScoreBias } from "./textGraph.ts";

const LARGEST_DISTANCE = 128;

export interface Buckets {
  /** Rows of the table. */
  readonly buckets: number;
  /** Both ways: half of the rows are for keys behind the query, the others for keys before it. */
  readonly sight: "causal" | "both ways";
}

/** The bucket of a distance of 0 or more among `count`, rounded in f32 as ggml does. */
export function bucketOf(distance: number, count: number): number {
  const exact = count >> 1;
  if (distance < exact) return distance;
  const grown = Math.fround(Math.fround(Math.log(distance / exact)) * (count - exact));
  return Math.min(Math.floor(Math.fround(exact + grown / Math.log(LARGEST_DISTANCE / exact))), count - 1);
}

/** The distances from which on a bucket's successor is meant. */
export function bucketStarts(count: number): readonly number[] {
  const starts: number[] = [];
  for (let distance = 1; distance <= 2 * LARGEST_DISTANCE; distance++)
    while (starts.length < bucketOf(distance, count)) starts.push(distance);
  return starts;
}

const tableOf = (stack: string, layer: number): string => `${stack}.${layer}.attn_rel_b.weight`;

/** Of a layer of `stack`; `distance` is the key's position less the query's. */
export const relativeBias =
  (stack: string, { buckets, sight }: Buckets) =>
  (d: ModelGraph, layer: number): ScoreBias => {
    const own = tableOf(stack, layer);
    const name = d.has(own) ? own : tableOf(stack, 0);
    return { name, scores: (distance, heads) => scoresOf(d, name, { buckets, sight }, { distance, heads }) };
  };

interface Scored {
  readonly distance: Value;
  readonly heads: number;
}

/** [heads, …] */
function scoresOf(d: ModelGraph, table: string, { buckets, sight }: Buckets, { distance, heads }: Scored): Value {
  const { g } = d;
  const number = (value: number): Value => g.constant(hostScalar("i32", value));
  const isOver = (x: Value, limit: number): Value =>
    g.cast([g.compare([x, number(limit)], { op: "ge" })], { to: "i32" });
  const each = sight === "both ways" ? buckets >> 1 : buckets;
  const away = sight === "both ways" ? g.abs([distance]) : g.maximum([g.neg([distance]), number(0)]);
  let bucket = sight === "both ways" ? g.mul([isOver(distance, 1), number(each)]) : number(0);
  for (const start of bucketStarts(each)) bucket = g.add([bucket, isOver(away, start)]);
  const rows = g.gather([d.matrix(table, [buckets, heads]), bucket], { axis: 0 }, "relative");
  return g.transpose([rows], { perm: [2, 0, 1] }, "relative_bias");
}
