/**
 * From what is shown to what is laid out: boxes, and for each frame its own small graph. An edge of the graph becomes an edge
 * between the boxes that stand for its ends; where it enters or leaves frames it passes their ports, one piece per frame.
 * What is read from many places becomes named stubs on its readers.
 */
import { NODE_FLAGS } from "../../main/contract/views/graph.ts";
import type { Shown } from "./fold.ts";
import type { GraphModel } from "./graphModel.ts";
import { IN, OUT } from "./layers.ts";

export const BOX_KINDS = { op: 0, group: 1, stack: 2, frame: 3 } as const;

export interface Boxes {
  readonly kind: readonly number[];
  /** The node of an op, the (first) group of the others. */
  readonly ref: readonly number[];
  /** The last group of a stack; else as `ref`. */
  readonly last: readonly number[];
  /** Box of the frame around it, or -1. */
  readonly parent: readonly number[];
  readonly depth: readonly number[];
}

/** One drawn piece of an edge. `from`/`to`: boxes, or IN/OUT of the frame it lies in. */
export interface Piece {
  readonly from: number;
  readonly to: number;
  /** A node pair that it stands for. */
  readonly source: number;
  readonly target: number;
  bytes: number;
  values: number;
  readonly state: boolean;
  /** Ports repeat what an outer piece says already. */
  readonly inner: boolean;
}

export interface Lifted {
  readonly boxes: Boxes;
  /** Box that stands for each node; -1 for hidden ones. */
  readonly boxOfNode: Int32Array;
  /** Members (box numbers in program order) and pieces of each frame; key -1 is the whole. */
  readonly members: ReadonlyMap<number, readonly number[]>;
  readonly pieces: ReadonlyMap<number, readonly Piece[]>;
  /** Shared values that a box reads. */
  readonly stubs: ReadonlyMap<number, readonly number[]>;
}

interface MutableBoxes extends Boxes {
  readonly kind: number[];
  readonly ref: number[];
  readonly last: number[];
  readonly parent: number[];
  readonly depth: number[];
}

export function lift(model: GraphModel, shown: readonly Shown[]): Lifted {
  const boxes: MutableBoxes = { kind: [], ref: [], last: [], parent: [], depth: [] };
  const members = new Map<number, number[]>();
  const boxOfGroup = new Int32Array(model.view.groups.parent.length).fill(-1);
  const boxOfNode = new Int32Array(model.view.nodeCount).fill(-1);
  const addAll = (items: readonly Shown[], parent: number, depth: number): void => {
    const own: number[] = [];
    members.set(parent, own);
    for (const item of items) {
      const box = boxes.kind.length;
      own.push(box);
      boxes.kind.push(BOX_KINDS[item.kind]);
      boxes.parent.push(parent);
      boxes.depth.push(depth);
      const [ref, last] = extentOf(item);
      boxes.ref.push(ref);
      boxes.last.push(last);
      if (item.kind === "op") boxOfNode[item.node] = box;
      else if (item.kind === "group") boxOfGroup[item.group] = box;
      else if (item.kind === "stack") for (const group of item.groups) boxOfGroup[group] = box;
      else addAll(item.items, box, depth + 1);
    }
  };
  addAll(shown, -1, 0);
  assignNodes(model, boxOfGroup, boxOfNode);
  return { boxes, boxOfNode, members, ...liftEdges(model, boxes, boxOfNode) };
}

function extentOf(item: Shown): readonly [number, number] {
  if (item.kind === "op") return [item.node, item.node];
  if (item.kind === "stack") return [item.groups[0] ?? 0, item.groups.at(-1) ?? 0];
  return [item.group, item.group];
}

/** A node inside a folded group is stood for by that group's box. */
function assignNodes(model: GraphModel, boxOfGroup: Int32Array, boxOfNode: Int32Array): void {
  const { view } = model;
  for (let node = 0; node < view.nodeCount; node++) {
    if (model.hidden[node] === 1 || (boxOfNode[node] ?? -1) >= 0) continue;
    for (
      let group = view.nodes.group[node] ?? 0, steps = 0;
      group >= 0 && steps < 64;
      group = view.groups.parent[group] ?? -1, steps++
    ) {
      const box = boxOfGroup[group] ?? -1;
      if (box < 0) continue;
      boxOfNode[node] = box;
      break;
    }
  }
}

function liftEdges(model: GraphModel, boxes: Boxes, boxOfNode: Int32Array): Pick<Lifted, "pieces" | "stubs"> {
  const { view } = model;
  const { start, source, bytes } = view.edges;
  const pieces = new Map<number, Piece[]>();
  const known = new Map<string, Piece>();
  const seenValues = new Set<string>();
  const stubs = new Map<number, number[]>();
  const parentOf = (box: number): number => boxes.parent[box] ?? -1;

  const add = (
    frame: number,
    from: number,
    to: number,
    edge: { u: number; v: number; bytes: number; inner: boolean },
  ): void => {
    const key = `${frame}/${from}/${to}`;
    let piece = known.get(key);
    if (piece === undefined) {
      const state = ((view.nodes.flags[edge.u] ?? 0) & (NODE_FLAGS.state | NODE_FLAGS.nextState)) !== 0;
      piece = { from, to, source: edge.u, target: edge.v, bytes: 0, values: 0, state, inner: edge.inner };
      known.set(key, piece);
      const list = pieces.get(frame);
      if (list === undefined) pieces.set(frame, [piece]);
      else list.push(piece);
    }
    const value = `${key}/${edge.u}`;
    if (seenValues.has(value)) return;
    seenValues.add(value);
    piece.bytes += edge.bytes;
    piece.values += 1;
  };

  const isStub = sharedAcrossBoxes(model, boxOfNode);
  for (let v = 0; v < view.nodeCount; v++) {
    const b = boxOfNode[v] ?? -1;
    if (b < 0) continue;
    for (let e = start[v] ?? 0; e < (start[v + 1] ?? 0); e++) {
      const u = source[e] ?? 0;
      const a = boxOfNode[u] ?? -1;
      if (a < 0 || a === b) continue;
      if (isStub[u] === 1) {
        const list = stubs.get(b) ?? [];
        if (!list.includes(u)) list.push(u);
        stubs.set(b, list);
        continue;
      }
      const edge = { u, v, bytes: bytes[e] ?? 0 };
      const [outerA, outerB] = meet(boxes, a, b);
      for (let box = a; box !== outerA; box = parentOf(box)) add(parentOf(box), box, OUT, { ...edge, inner: true });
      for (let box = b; box !== outerB; box = parentOf(box)) add(parentOf(box), IN, box, { ...edge, inner: true });
      add(parentOf(outerA), outerA, outerB, { ...edge, inner: false });
    }
  }
  return { pieces, stubs };
}

/** The two boxes around (or equal to) a and b that lie in the same frame. */
function meet(boxes: Boxes, a: number, b: number): readonly [number, number] {
  let [x, y] = [a, b];
  const depth = (box: number): number => boxes.depth[box] ?? 0;
  while (depth(x) > depth(y)) x = boxes.parent[x] ?? -1;
  while (depth(y) > depth(x)) y = boxes.parent[y] ?? -1;
  while (boxes.parent[x] !== boxes.parent[y]) {
    x = boxes.parent[x] ?? -1;
    y = boxes.parent[y] ?? -1;
  }
  return [x, y];
}

/** Shared values become stubs once more than two boxes read them; folded away, a plain line is clearer. */
function sharedAcrossBoxes(model: GraphModel, boxOfNode: Int32Array): Uint8Array {
  const isStub = new Uint8Array(model.view.nodeCount);
  for (let u = 0; u < model.view.nodeCount; u++) {
    if (model.shared[u] === 0 || (boxOfNode[u] ?? -1) < 0) continue;
    const readers = new Set<number>();
    for (let c = model.consumerStart[u] ?? 0; c < (model.consumerStart[u + 1] ?? 0) && readers.size <= 2; c++)
      readers.add(boxOfNode[model.consumers[c] ?? 0] ?? -1);
    if (readers.size > 2) isStub[u] = 1;
  }
  return isStub;
}
