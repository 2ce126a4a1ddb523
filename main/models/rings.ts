/**
 * Rings: a layer that sees only the newest positions needs no others. Its caches then have the rows that the first token
 * of a step sees and those that the step brings, and position p lies in row p modulo their number.
 */
import type { Ring } from "../ir/rewind.ts";
import { reachOf } from "../ops/attention/attention_cached.ts";
import type { AttentionRules, ModelOptions } from "./blocks.ts";

/** A whole number of the blocks in which the CPU engine takes keys: sums are then those of a whole cache, to the last bit. */
const ROWS_STEP = 256;

/** Rows for layers that see so many positions before their own. */
export const ringRows = (reach: number, largestStep: number): number =>
  Math.ceil((reach + largestStep) / ROWS_STEP) * ROWS_STEP;

/** The ring of a layer; undefined where it was not asked for, or where a whole cache is not larger. */
export function ringFor(
  rules: Pick<AttentionRules, "window" | "chunk">,
  { rings, capacity, largestCapacity, largestStep }: ModelOptions,
  context: number,
): Ring | undefined {
  const reach = reachOf(rules);
  if (rings !== true || reach === Infinity) return undefined;
  const rows = ringRows(reach, largestStep);
  const positions = typeof capacity === "number" ? capacity : (largestCapacity ?? context);
  return rows < positions ? { rows, spare: rows - reach } : undefined;
}
