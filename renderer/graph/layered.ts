/**
 * Layered layout of one frame: near-linear, stable, and in program order wherever that is as good as anything else.
 *   1. rank by longest path; sources move down to their first consumer
 *   2. edges over more than LONG_SPAN ranks are cut (the caller draws stubs); the others get a bend in each rank they cross
 *   3. four barycentre sweeps with program order as tie-break, then swaps of neighbours that remove crossings
 *   4. x by pool-adjacent-violators: the nearest placement to each node's neighbours that keeps the order and the gaps
 * Members are numbered in program order; IN and OUT are the frame's own ports, at its top and bottom centre.
 */
export const IN = -1;
export const OUT = -2;
export const LONG_SPAN = 8;

export interface LocalSize {
  /** From the axis (where edges come in and leave) to the borders of the box. */
  readonly left: number;
  readonly right: number;
  readonly height: number;
  /** Room to the right that goes with the box, for stubs. */
  readonly extra: number;
}
export interface LocalEdge {
  readonly from: number;
  readonly to: number;
}
export interface LocalLayout {
  /** Axis of each member relative to the frame's axis, its top relative to the first rank. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** From the frame's axis to the outermost members, and the height of all ranks. */
  readonly left: number;
  readonly right: number;
  readonly height: number;
  /** Whether something comes in at the top, leaves at the bottom. */
  readonly hasIn: boolean;
  readonly hasOut: boolean;
  /** Per edge: x, y, x, y … in the same coordinates; empty when it was cut or runs against program order. */
  readonly routes: readonly Float64Array[];
  readonly cut: Uint8Array;
  readonly back: Uint8Array;
}

const GAP_X = 28;
const GAP_Y = 36;
const HALF_BEND = 5;
const SWEEPS = 4;
const MAX_SWAP_EDGES = 4000;

/** The graph that is placed: members, ports and bends, with edges between neighbouring ranks only. */
interface Layers {
  readonly rank: number[];
  /** Length of the longest way to a node; a bend has that of the node its edge comes from. */
  readonly depth: number[];
  readonly order: number[];
  readonly left: number[];
  readonly right: number[];
  readonly height: number[];
  readonly isBend: boolean[];
  readonly up: number[][];
  readonly down: number[][];
  readonly ranks: number[][];
}

export function layoutLayered(sizes: readonly LocalSize[], edges: readonly LocalEdge[]): LocalLayout {
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
  sizes.forEach((size, i) => {
    layers.depth[addNode(rank[i] ?? 0, size.left, size.right + size.extra, size.height, i, false)] = depth[i] ?? 0;
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
  for (let node = 0; node < x.length; node++) x[node] = (x[node] ?? 0) - axis;

  const { top, bottom, height } = rankRows(layers);
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

/** `Math.max(...array)` overflows the stack on large frames. */
function maxOf(values: readonly number[]): readonly [number] {
  let max = 0;
  for (const value of values) if (value > max) max = value;
  return [max];
}

function rankMembers(
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
  // Program order is a topological order, so one pass suffices.
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

function orderRanks(layers: Layers, edgeCount: number): void {
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

function placeX(layers: Layers): Float64Array {
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

function rankRows(layers: Layers): { top: number[]; bottom: number[]; height: number } {
  const top: number[] = [];
  const bottom: number[] = [];
  let y = 0;
  layers.ranks.forEach((row, r) => {
    let height = 0;
    for (const node of row) height = Math.max(height, layers.height[node] ?? 0);
    top[r] = y;
    bottom[r] = y + height;
    y += height + (r + 1 < layers.ranks.length ? GAP_Y : 0);
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
