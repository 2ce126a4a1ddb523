/** How far a result is from another, over the largest value there. JSON has no infinity, so an infinite distance is a word. */
import { z } from "zod";
import type { View } from "./define.ts";

/** "Infinity" where a NaN or an infinity stands on one side only. */
export const distance = z.union([z.number(), z.literal("Infinity")]);
export type Distance = View<typeof distance>;

export const toldDistance = (value: number): Distance => (Number.isFinite(value) ? value : "Infinity");

export const distanceText = (value: Distance, none = "none"): string => {
  if (value === "Infinity") return "NaN or ∞";
  return value === 0 ? none : value.toExponential(1);
};
