/** Where the time of one written token goes, in five parts: the rows of the table put together. */
import type { PieceKind, Recording } from "../../../main/contract/recordings/pieces.ts";
import { typicalTokens } from "../../../main/contract/recordings/pieces.ts";
import { opSums, phaseScope, totalOf } from "../../../main/contract/recordings/sums.ts";

export const PARTS = ["weights", "attention", "rest", "sampling", "between"] as const;
export type PartName = (typeof PARTS)[number];
export interface TokenPart {
  readonly part: PartName;
  readonly seconds: number;
  readonly share: number;
}

/** A fused instruction belongs where most of its time is known to go: attention before products with weights. */
export function partOf(op: string, kind: PieceKind = "op"): PartName {
  if (kind !== "op") return kind === "edges" ? "sampling" : "between";
  if (/attention|append/.test(op)) return "attention";
  return /linear|matmul|gather|embedding/.test(op) ? "weights" : "rest";
}

/** Empty when no token was written. */
export function tokenParts(recording: Recording): {
  readonly tokens: number;
  readonly parts: readonly TokenPart[];
} {
  const sums = opSums(recording, phaseScope(recording, "decode"));
  const tokens = typicalTokens(recording).length;
  if (sums.length === 0) return { tokens, parts: [] };
  const parts = PARTS.map((part) => {
    const own = sums.filter(({ name, kind }) => partOf(name, kind) === part);
    return { part, seconds: totalOf(own), share: own.reduce((sum, { share }) => sum + share, 0) };
  });
  return { tokens, parts };
}
