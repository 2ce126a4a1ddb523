/**
 * Layered layout of one frame: near-linear, stable, and in program order wherever that is as good as anything else.
 *   1. rank by longest path; sources move down to their first consumer
 *   2. edges over more than LONG_SPAN ranks are cut (the caller draws stubs); the others get a bend in each rank they cross
 *   3. four barycentre sweeps with program order as tie-break, then swaps of neighbours that remove crossings
 *   4. x by pool-adjacent-violators: the nearest placement to each node's neighbours that keeps the order and the gaps;
 *      then the bends of each edge onto one line where there is room
 * Members are numbered in program order; IN and OUT are the frame's own ports, at its top and bottom centre.
 */
import type { Layers, LocalEdge, LocalLayout, LocalSize } from "./layers.ts";
import { IN, LONG_SPAN, OUT } from "./layers.ts";
import { orderRanks } from "./orderRanks.ts";
import { placeX } from "./placeX.ts";
import { rankMembers } from "./rankMembers.ts";
import { straighten } from "./straighten.ts";

/** Between ranks, where nothing else is asked for. */
export const GAP_Y = 36;
const HALF_BEND = 5;

export function layoutLayered(
  sizes: readonly LocalSize[],
  edges: readonly LocalEdge[],
  gapY: number = GAP_Y,
): LocalLayout {
  const count = sizes.length;
  const cut = new Uint8Array(edges.length);
  const back = new Uint8Array(edges.length);
  edges.forEach(({ from, to }, i) => {
    if (from >= 0 && to >= 0 && to <= from) back[i] = 1;
  });
  const hasIn = edges.some(({ from }) => from === IN);
  const hasOut = edges.some(({ to }) => to === OUT);
  const inNode = count;
  const outNode = count + (hasIn ? 1 : 0);
  const id = (end: number): number => (end === IN ? inNode : end === OUT ? outNode : end);

  const { rank, depth } = rankMembers(count, edges, back, hasIn);
  const outRank = Math.max(0, ...maxOf(rank)) + 1;
  const layers: Layers = {
    rank,
    depth: [],
    order: [],
    left: [],
    right: [],
    height: [],
    isBend: [],
    up: [],
    down: [],
    ranks: [],
  };
  const addNode = (r: number, left: number, right: number, height: number, order: number, bend: boolean): number => {
    const node = layers.left.length;
    layers.rank[node] = r;
    layers.left.push(left);
    layers.right.push(right);
    layers.height.push(height);
    layers.order.push(order);
    layers.isBend.push(bend);
    layers.up.push([]);
    layers.down.push([]);
    (layers.ranks[r] ??= []).push(node);
    return node;
  };
  const orders = programOrder(count, edges);
  sizes.forEach((size, i) => {
    const node = addNode(rank[i] ?? 0, size.left, size.right + size.extra, size.height, orders[i] ?? i, false);
    layers.depth[node] = depth[i] ?? 0;
  });
  // What comes in at the top leads further back than any source inside.
  if (hasIn) layers.depth[addNode(0, HALF_BEND, HALF_BEND, 0, -1, true)] = 0.5;
  if (hasOut) layers.depth[addNode(outRank, HALF_BEND, HALF_BEND, 0, count, true)] = outRank;
  for (let r = 0; r < layers.ranks.length; r++) layers.ranks[r] ??= [];

  const connect = (a: number, b: number): void => {
    layers.down[a]?.push(b);
    layers.up[b]?.push(a);
  };
  const bendsOf: number[][] = edges.map(({ from, to }, i) => {
    if (back[i] === 1) return [];
    const [a, b] = [id(from), id(to)];
    const [first, last] = [layers.rank[a] ?? 0, layers.rank[b] ?? 0];
    if (last - first > LONG_SPAN) {
      cut[i] = 1;
      return [];
    }
    const bends: number[] = [];
    // A bend stands where the farther end's program order says, so that parallel edges start without crossings.
    for (let r = first + 1; r < last; r++) {
      const bend = addNode(r, HALF_BEND, HALF_BEND, 0, (layers.order[a] ?? 0) + 0.5, true);
      layers.depth[bend] = layers.depth[a] ?? 0;
      bends.push(bend);
    }
    [a, ...bends, b].reduce((previous, next) => (connect(previous, next), next));
    return bends;
  });

  orderRanks(layers, edges.length);
  const x = placeX(layers);
  const spineEnd = layers.ranks.at(-1)?.[0];
  const axis = hasIn ? (x[inNode] ?? 0) : hasOut ? (x[outNode] ?? 0) : spineEnd === undefined ? 0 : (x[spineEnd] ?? 0);
  straighten(layers, x, bendsOf, axis);
  for (let node = 0; node < x.length; node++) x[node] = (x[node] ?? 0) - axis;

  const { top, bottom, height } = rankRows(layers, gapY);
  const y = Float64Array.from({ length: count }, (_, i) => {
    const r = layers.rank[i] ?? 0;
    return (top[r] ?? 0) + ((bottom[r] ?? 0) - (top[r] ?? 0) - (layers.height[i] ?? 0)) / 2;
  });
  const routes = edges.map(({ from, to }, i) => {
    if (back[i] === 1 || cut[i] === 1) return new Float64Array(0);
    const points: number[] = [];
    const [a, b] = [id(from), id(to)];
    points.push(x[a] ?? 0, from === IN ? 0 : (y[a] ?? 0) + (layers.height[a] ?? 0));
    for (const bend of bendsOf[i] ?? []) {
      const r = layers.rank[bend] ?? 0;
      points.push(x[bend] ?? 0, top[r] ?? 0, x[bend] ?? 0, bottom[r] ?? 0);
    }
    points.push(x[b] ?? 0, to === OUT ? height : (y[b] ?? 0));
    return Float64Array.from(points);
  });
  return { x: x.slice(0, count), y, ...extent(x, layers), height, hasIn, hasOut, routes, cut, back };
}

/** Members in program order; of those without any edge, every other one stands to the left of all. */
function programOrder(count: number, edges: readonly LocalEdge[]): readonly number[] {
  const linked = new Uint8Array(count);
  for (const { from, to } of edges) {
    if (from >= 0) linked[from] = 1;
    if (to >= 0) linked[to] = 1;
  }
  let alone = 0;
  return Array.from(linked, (is, i) => (is === 0 && alone++ % 2 === 1 ? i - count - 1 : i));
}

/** `Math.max(...array)` overflows the stack on large frames. */
function maxOf(values: readonly number[]): readonly [number] {
  let max = 0;
  for (const value of values) if (value > max) max = value;
  return [max];
}

function rankRows(layers: Layers, gapY: number): { top: number[]; bottom: number[]; height: number } {
  const top: number[] = [];
  const bottom: number[] = [];
  let y = 0;
  layers.ranks.forEach((row, r) => {
    let height = 0;
    for (const node of row) height = Math.max(height, layers.height[node] ?? 0);
    top[r] = y;
    bottom[r] = y + height;
    y += height + (r + 1 < layers.ranks.length ? gapY : 0);
  });
  return { top, bottom, height: y };
}

function extent(x: Float64Array, layers: Layers): { left: number; right: number } {
  let [left, right] = [0, 0];
  for (let node = 0; node < x.length; node++) {
    left = Math.max(left, (layers.left[node] ?? 0) - (x[node] ?? 0));
    right = Math.max(right, (layers.right[node] ?? 0) + (x[node] ?? 0));
  }
  return { left, right };
}
