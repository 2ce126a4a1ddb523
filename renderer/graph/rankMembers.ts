/** Ranks by longest path; sources move down to their first consumer. Program order is a topological order. */
import { IN } from "./layers.ts";
import type { LocalEdge } from "./layers.ts";

export function rankMembers(
  count: number,
  edges: readonly LocalEdge[],
  back: Uint8Array,
  hasIn: boolean,
): { rank: number[]; depth: readonly number[] } {
  const first = hasIn ? 1 : 0;
  const rank = new Array<number>(count).fill(first);
  const out: number[][] = Array.from({ length: count }, () => []);
  const readers = new Uint32Array(count);
  edges.forEach(({ from, to }, i) => {
    if (back[i] === 1 || from < 0 || to < 0) {
      if (from === IN && to >= 0) readers[to] = (readers[to] ?? 0) + 1;
      return;
    }
    out[from]?.push(to);
    readers[to] = (readers[to] ?? 0) + 1;
  });
  // One pass suffices.
  for (let i = 0; i < count; i++)
    for (const to of out[i] ?? []) rank[to] = Math.max(rank[to] ?? first, (rank[i] ?? first) + 1);
  const depth = rank.map((r, i) => (readers[i] === 0 ? 0 : r));
  for (let i = 0; i < count; i++) {
    const targets = out[i] ?? [];
    if (readers[i] !== 0 || targets.length === 0) continue;
    let nearest = Infinity;
    for (const to of targets) nearest = Math.min(nearest, rank[to] ?? first);
    rank[i] = Math.max(first, nearest - 1);
  }
  return { rank, depth };
}
