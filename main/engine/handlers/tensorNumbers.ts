/** Numbers of tensors on their way to a window, and how often progress is told. */
import type { DifferenceView } from "../../contract/views/tensors.ts";
import type { Difference } from "../../statistics/scan.ts";

/** Progress is told this often at most. */
const EVERY_SECONDS = 0.1;

export function throttled(seconds: () => number): () => boolean {
  let told = -Infinity;
  return () => {
    const now = seconds();
    if (now - told < EVERY_SECONDS) return false;
    told = now;
    return true;
  };
}

/** null where it is beyond all numbers. */
export const bounded = (value: number): number | null => (Number.isFinite(value) ? value : null);

export function differenceView(difference: Difference): DifferenceView {
  const { rmse, relative, cosine, decibels, farthest, worst } = difference;
  return {
    ...{
      rmse: bounded(rmse),
      relative: bounded(relative),
      cosine: bounded(cosine),
      decibels: bounded(decibels),
      farthest,
    },
    worst: worst === null ? null : { place: worst.place, relative: bounded(worst.relative) },
  };
}
