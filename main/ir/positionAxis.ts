/**
 * The axis of a state that counts positions: that of a symbolic size, or of what an append writes
 * to; none otherwise.
 */
import type { TensorType } from "./type.ts";

export function positionAxis(type: TensorType, isAppendedTo: () => boolean): number | undefined {
  const symbolic = type.shape.findIndex((dim) => typeof dim === "string");
  if (symbolic >= 0) return symbolic;
  return isAppendedTo() ? APPENDED_AXIS : undefined;
}

/** Caches are [heads, capacity, size]. */
const APPENDED_AXIS = 1;
