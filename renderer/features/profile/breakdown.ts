/** Where the time of one written token goes, and what a row's bandwidth says about memory. */
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { median } from "../../ui/median.ts";

export const PARTS = ["weights", "attention", "rest", "sampling", "between"] as const;
export type PartName = (typeof PARTS)[number];
export interface TokenPart {
  readonly part: PartName;
  /** Median over the written tokens: a mean would speak of the one that another program held up. */
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
  readonly parts: readonly TokenPart[];
} {
  const times = new Map<number, Record<PartName, number>>();
  const gaps: number[] = [];
  for (let i = 0; i < steps.start.length; i++) {
    if (steps.decode[i] !== 1) continue;
    times.set(i, { weights: 0, attention: 0, rest: 0, sampling: steps.seconds[i] ?? 0, between: 0 });
    const next = steps.start[i + 1];
    if (next !== undefined) gaps.push(Math.max(0, next - (steps.start[i] ?? 0) - (steps.seconds[i] ?? 0)));
  }
  for (let i = 0; i < slices.start.length; i++) {
    const token = times.get(slices.step[i] ?? 0);
    if (token === undefined) continue;
    const seconds = slices.seconds[i] ?? 0;
    token[partOf(strings[slices.op[i] ?? 0] ?? "")] += seconds;
    token.sampling -= seconds;
  }
  const tokens = times.size;
  if (tokens === 0) return { tokens, parts: [] };
  const typical = (part: PartName): number =>
    Math.max(0, median(part === "between" ? gaps : Array.from(times.values(), (token) => token[part])) ?? 0);
  const parts = PARTS.map((part) => ({ part, seconds: typical(part) }));
  const total = parts.reduce((sum, { seconds }) => sum + seconds, 0);
  return {
    tokens,
    parts: parts.map((each) => ({ ...each, share: total === 0 ? 0 : each.seconds / total })),
  };
}
