/**
 * Where the nodes of each rank stand from left to right: the nearest placement to each node's neighbours that keeps the order
 * and the gaps (pool-adjacent-violators), with the chain that carries the program kept straight.
 */
import type { Layers } from "./layers.ts";

const GAP_X = 28;

/** The chain that carries the program: from the last node up the longest way, through boxes, earliest first. */
function findSpine(layers: Layers): Uint8Array {
  const spine = new Uint8Array(layers.left.length);
  const last = layers.ranks.at(-1) ?? [];
  for (let node = last[0]; node !== undefined;) {
    spine[node] = 1;
    let next: number | undefined;
    for (const up of layers.up[node] ?? []) {
      if (next === undefined) next = up;
      else if (layers.depth[up] !== layers.depth[next])
        next = (layers.depth[up] ?? 0) > (layers.depth[next] ?? 0) ? up : next;
      else if (layers.isBend[up] !== layers.isBend[next]) next = layers.isBend[up] === true ? next : up;
      else if ((layers.order[up] ?? 0) < (layers.order[next] ?? 0)) next = up;
    }
    node = next;
  }
  return spine;
}

/** How strongly a node holds on to where it wants to be. */
const SPINE_WEIGHT = 1e6;

export function placeX(layers: Layers): Float64Array {
  const x = new Float64Array(layers.left.length);
  const spine = findSpine(layers);
  for (const row of layers.ranks) place(layers, spine, row, x, () => 0);
  const mean = (node: number, links: readonly number[][]): number | null => {
    const near = links[node] ?? [];
    if (near.length === 0) return null;
    let sum = 0;
    let weight = 0;
    for (const other of near) {
      // The spine is straight whatever happens beside it; long edges are as straight as they can be.
      if (spine[node] === 1 && spine[other] === 1) return x[other] ?? 0;
      const w = layers.isBend[other] === true && layers.isBend[node] === true ? 4 : 1;
      sum += w * (x[other] ?? 0);
      weight += w;
    }
    return sum / weight;
  };
  const { ranks } = layers;
  for (let i = 0; i < 3; i++) {
    for (let r = 1; r < ranks.length; r++) place(layers, spine, ranks[r] ?? [], x, (node) => mean(node, layers.up));
    for (let r = ranks.length - 2; r >= 0; r--)
      place(layers, spine, ranks[r] ?? [], x, (node) => mean(node, layers.down));
  }
  for (let r = 1; r < ranks.length; r++)
    place(layers, spine, ranks[r] ?? [], x, (node) => {
      const [up, down] = [mean(node, layers.up), mean(node, layers.down)];
      // The way in wins: a chain that comes straight down stays straight.
      return up === null || down === null ? (up ?? down) : 0.75 * up + 0.25 * down;
    });
  return x;
}

/** Least-squares placement of one rank in its order with minimal gaps: pools of nodes that would overlap move as one. */
function place(
  layers: Layers,
  spine: Uint8Array,
  row: readonly number[],
  x: Float64Array,
  wish: (node: number) => number | null,
): void {
  interface Pool {
    weight: number;
    sum: number;
    readonly members: number[];
  }
  const pools: Pool[] = [];
  let offset = 0;
  const offsets: number[] = [];
  row.forEach((node, i) => {
    const before = row[i - 1];
    if (before !== undefined) offset += (layers.right[before] ?? 0) + GAP_X + (layers.left[node] ?? 0);
    offsets.push(offset);
    const target = wish(node);
    const weight = spine[node] === 1 ? SPINE_WEIGHT : target === null ? 0.01 : 1;
    pools.push({ weight, sum: weight * ((target ?? x[node] ?? 0) - offset), members: [i] });
    for (
      let last = pools.at(-1), previous = pools.at(-2);
      last !== undefined && previous !== undefined;
      last = pools.at(-1), previous = pools.at(-2)
    ) {
      if (previous.sum / previous.weight <= last.sum / last.weight) break;
      pools.pop();
      previous.weight += last.weight;
      previous.sum += last.sum;
      previous.members.push(...last.members);
    }
  });
  for (const pool of pools)
    for (const i of pool.members) {
      const node = row[i];
      if (node !== undefined) x[node] = pool.sum / pool.weight + (offsets[i] ?? 0);
    }
}
