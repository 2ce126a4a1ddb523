/** Lengths of gradients as bars: over powers of ten, because layers differ by factors. */
import type { TrainRun } from "../../../main/contract/views/train.ts";

export type LayerNorm = TrainRun["norms"][number];

/** What is a thousandth of a thousandth of the longest is drawn as nothing. */
const DECADES = 6;

/** 1 for the longest, 0 for what is nothing beside it; a number that is none has no bar. */
export function normShare(norm: number, among: readonly LayerNorm[]): number {
  const longest = among.reduce((most, each) => (Number.isFinite(each.norm) ? Math.max(most, each.norm) : most), 0);
  if (!Number.isFinite(norm) || norm <= 0 || longest <= 0) return 0;
  return Math.max(0, 1 + Math.log10(norm / longest) / DECADES);
}
