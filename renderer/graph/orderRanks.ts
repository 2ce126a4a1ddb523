/**
 * The order within each rank: four barycentre sweeps with program order as tie-break, then swaps of neighbours that remove
 * crossings.
 */
import type { Layers } from "./layers.ts";

const SWEEPS = 4;
const MAX_SWAP_EDGES = 4000;

export function orderRanks(layers: Layers, edgeCount: number): void {
  const position: number[] = [];
  const number = (row: readonly number[]): void => row.forEach((node, i) => (position[node] = i));
  for (const row of layers.ranks) {
    row.sort((a, b) => (layers.order[a] ?? 0) - (layers.order[b] ?? 0));
    number(row);
  }
  const sweep = (row: number[], links: readonly number[][]): void => {
    const keys = new Map<number, number>();
    for (const node of row) {
      const near = links[node] ?? [];
      let sum = 0;
      for (const other of near) sum += position[other] ?? 0;
      keys.set(node, near.length === 0 ? (position[node] ?? 0) : sum / near.length);
    }
    row.sort((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0) || (layers.order[a] ?? 0) - (layers.order[b] ?? 0));
    number(row);
  };
  for (let i = 0; i < SWEEPS; i++) {
    if (i % 2 === 0) for (let r = 1; r < layers.ranks.length; r++) sweep(layers.ranks[r] ?? [], layers.up);
    else for (let r = layers.ranks.length - 2; r >= 0; r--) sweep(layers.ranks[r] ?? [], layers.down);
  }
  if (edgeCount <= MAX_SWAP_EDGES) for (let i = 0; i < 3; i++) if (!swapNeighbours(layers, position)) break;
}

/** Swaps neighbours where that removes crossings with the ranks above and below. */
function swapNeighbours(layers: Layers, position: number[]): boolean {
  let swapped = false;
  for (const row of layers.ranks)
    for (let i = 0; i + 1 < row.length; i++) {
      const [a, b] = [row[i] ?? 0, row[i + 1] ?? 0];
      const now = crossings(layers, position, a, b);
      if (now === 0 || crossings(layers, position, b, a) >= now) continue;
      row[i] = b;
      row[i + 1] = a;
      position[a] = i + 1;
      position[b] = i;
      swapped = true;
    }
  return swapped;
}

/** Crossings between the edges of `left` and of `right` when they stand in this order. */
function crossings(layers: Layers, position: readonly number[], left: number, right: number): number {
  let n = 0;
  for (const links of [layers.up, layers.down])
    for (const a of links[left] ?? [])
      for (const b of links[right] ?? []) if ((position[a] ?? 0) > (position[b] ?? 0)) n += 1;
  return n;
}
