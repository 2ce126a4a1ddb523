/** Which operations a search means: that of its name first, then those whose names have its words, then those whose meaning does. */
import type { OpFacts } from "../../../main/contract/views/text.ts";

export function opsMatching(ops: readonly OpFacts[], query: string): readonly OpFacts[] {
  const words = query
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== "");
  const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const own = query.trim().toLowerCase();
  const named = ops.filter(({ name }) => has(name)).toSorted((a, b) => Number(b.name === own) - Number(a.name === own));
  const meant = ops.filter((op) => !named.includes(op) && has(`${op.name} ${op.summary}`));
  return [...named, ...meant];
}
