/**
 * Growth of a process per turn of work that should leave nothing behind. The difference of two samples
 * is mostly noise, because allocator arenas come and go by megabytes. The median slope of all pairs of
 * samples (Theil and Sen) finds a leak, and up to a quarter of wild samples do not move it.
 */
import { median } from "../runtime/statistics.ts";
import { collectGarbage } from "./collectGarbage.ts";

/** Bytes, as the process counts them. */
export interface Look {
  readonly resident: number;
  readonly heap: number;
  /** What typed arrays and handles hold outside the heap. */
  readonly external: number;
}

/** After a collection: what is held, not what waits to be found unused. */
export function lookAtMemory(): Look {
  collectGarbage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { resident: rss, heap: heapUsed, external };
}

/** Rise from one value to the next. */
export function slope(values: readonly number[]): number {
  const slopes = values.flatMap((from, i) => values.slice(i + 1).map((to, j) => (to - from) / (j + 1)));
  return median(slopes);
}

/** Bytes that every turn adds; `turns` of them lie between two looks. */
export const growth = (looks: readonly Look[], turns = 1): Look => ({
  resident: slope(looks.map(({ resident }) => resident)) / turns,
  heap: slope(looks.map(({ heap }) => heap)) / turns,
  external: slope(looks.map(({ external }) => external)) / turns,
});
