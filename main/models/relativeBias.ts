/**
 * T5's bias of attention scores: a table has a row for each bucket of distances and a column for each head. Near distances have
 * a bucket each, farther ones share some, in steps that grow like logarithms, and all beyond 128 the last.
 */
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { ModelGraph } from "./blocks.ts";

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

/** [heads, …] of `distance`, which is the key's position less the query's. */
export const relativeBias =
  (table: string, { buckets, sight }: Buckets) =>
  (d: ModelGraph, distance: Value, heads: number): Value => {
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
  };
