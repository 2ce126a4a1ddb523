/**
 * Long edges as straight lines: the bends of one edge, which were placed rank by rank, move onto one line where nothing stands in
 * its way. Outwards first, so that an edge round other boxes goes round all of them at once.
 */
import type { Layers } from "./layers.ts";

/** Between a bend and what stands beside it. */
const CLEAR = 12;

export function straighten(
  layers: Layers,
  x: Float64Array,
  chains: readonly (readonly number[])[],
  axis: number,
): void {
  const position = new Uint32Array(x.length);
  for (const row of layers.ranks) row.forEach((node, i) => (position[node] = i));
  const fits = (chain: readonly number[], at: number): boolean =>
    chain.every((bend) => {
      const row = layers.ranks[layers.rank[bend] ?? 0] ?? [];
      const i = position[bend] ?? 0;
      const [left, right] = [row[i - 1], row[i + 1]];
      const room = (layers.left[bend] ?? 0) + CLEAR;
      return (
        (left === undefined || (x[left] ?? 0) + (layers.right[left] ?? 0) + room <= at) &&
        (right === undefined || at + room <= (x[right] ?? 0) - (layers.left[right] ?? 0))
      );
    });
  for (const chain of chains) {
    if (chain.length < 2) continue;
    let [low, high, sum] = [Infinity, -Infinity, 0];
    for (const bend of chain) {
      const at = x[bend] ?? 0;
      [low, high, sum] = [Math.min(low, at), Math.max(high, at), sum + at];
    }
    const mean = sum / chain.length;
    const line = (mean < axis ? [low, high, mean] : [high, low, mean]).find((at) => fits(chain, at));
    if (line !== undefined) for (const bend of chain) x[bend] = line;
  }
}
