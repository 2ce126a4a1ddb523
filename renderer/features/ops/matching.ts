/** Which operations a search means: those whose names have its words first, then those whose meaning does. */
import type { OpFacts } from "../../../main/contract/views/text.ts";

export function opsMatching(ops: readonly OpFacts[], query: string): readonly OpFacts[] {
  const words = query
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== "");
  const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const named = ops.filter(({ name }) => has(name));
  const meant = ops.filter((op) => !named.includes(op) && has(`${op.name} ${op.summary}`));
  return [...named, ...meant];
}
