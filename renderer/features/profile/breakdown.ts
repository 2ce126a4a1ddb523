/** Where the time of one written token goes, and what a row's bandwidth says about memory. */
import type { ProfileView } from "../../../main/contract/views/run.ts";

export const PARTS = ["weights", "attention", "rest", "drawing", "between"] as const;
export type PartName = (typeof PARTS)[number];
export interface TokenPart {
  readonly part: PartName;
  /** Mean over the written tokens. */
  readonly seconds: number;
  readonly share: number;
}

/** A fused instruction belongs where most of its time is known to go: attention before products with weights. */
export function partOf(op: string): "weights" | "attention" | "rest" {
  if (/attention|append/.test(op)) return "attention";
  return /linear|matmul|gather|embedding/.test(op) ? "weights" : "rest";
}

/**
 * Instructions follow each other without a gap, so what a step takes beyond them is its start, its end and the drawing of
 * the token; what lies between two steps is JavaScript. Empty when no token was written.
 */
export function tokenParts({ steps, slices, strings }: Pick<ProfileView, "steps" | "slices" | "strings">): {
  readonly tokens: number;
  readonly seconds: number;
  readonly parts: readonly TokenPart[];
} {
  const sums: Record<PartName, number> = { weights: 0, attention: 0, rest: 0, drawing: 0, between: 0 };
  let [tokens, gaps] = [0, 0];
  for (let i = 0; i < steps.start.length; i++) {
    if (steps.decode[i] !== 1) continue;
    tokens++;
    sums.drawing += steps.seconds[i] ?? 0;
    const next = steps.start[i + 1];
    if (next === undefined) continue;
    gaps++;
    sums.between += Math.max(0, next - (steps.start[i] ?? 0) - (steps.seconds[i] ?? 0));
  }
  for (let i = 0; i < slices.start.length; i++) {
    if (steps.decode[slices.step[i] ?? 0] !== 1) continue;
    const seconds = slices.seconds[i] ?? 0;
    sums[partOf(strings[slices.op[i] ?? 0] ?? "")] += seconds;
    sums.drawing -= seconds;
  }
  if (tokens === 0) return { tokens, seconds: 0, parts: [] };
  const mean = (part: PartName): number =>
    Math.max(0, part === "between" ? sums.between / Math.max(1, gaps) : sums[part] / tokens);
  const total = PARTS.reduce((sum, part) => sum + mean(part), 0);
  return {
    tokens,
    seconds: total,
    parts: PARTS.map((part) => ({ part, seconds: mean(part), share: total === 0 ? 0 : mean(part) / total })),
  };
}
