/** Differences of ops as rows: equal ones of many blocks are one row, which says in which blocks they are. */
import type { ComparedGraphs, OpPair } from "../../compare/graphs.ts";
import { withoutBlock } from "../../compare/graphs.ts";
import type { CostlyDifference, MovedOp, OpDifference } from "../../contract/views/compare.ts";
import { deviceOf } from "../../contract/views/common.ts";
import type { RouteView } from "../../contract/views/route.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { nodeName, scopeOf } from "../../ir/nodePlace.ts";
import { invariant } from "../../diagnostics/errors.ts";

/** A graph with its route: nodes of both are the same. */
export interface RoutedGraph {
  readonly graph: Graph;
  readonly route: RouteView;
}

export interface RoutedPair {
  readonly a: RoutedGraph;
  readonly b: RoutedGraph;
}

/** "0–3, 7" */
export function rangesOf(blocks: readonly number[]): string {
  const sorted = [...new Set(blocks)].sort((x, y) => x - y);
  const ranges: [number, number][] = [];
  for (const block of sorted) {
    const last = ranges.at(-1);
    if (last !== undefined && block === last[1] + 1) last[1] = block;
    else ranges.push([block, block]);
  }
  return ranges.map(([first, end]) => (first === end ? String(first) : `${first}–${end}`)).join(", ");
}

interface Fold<T> {
  readonly first: T;
  readonly all: T[];
  readonly blocks: number[];
}

/** Those of one key together, in the order of their first. */
function folded<T>(items: readonly T[], keyOf: (item: T) => string, pathOf: (item: T) => string): readonly Fold<T>[] {
  const byKey = new Map<string, Fold<T>>();
  for (const item of items) {
    const { pattern, block } = withoutBlock(pathOf(item));
    const key = `${pattern}|${keyOf(item)}`;
    const fold = byKey.get(key) ?? { first: item, all: [], blocks: [] };
    byKey.set(key, fold);
    fold.all.push(item);
    if (block !== null) fold.blocks.push(block);
  }
  return [...byKey.values()];
}

const patternOf = (path: string, ops: number): string => (ops === 1 ? path : withoutBlock(path).pattern);

export function differenceRows({ ops }: ComparedGraphs): readonly OpDifference[] {
  return folded(
    ops,
    ({ kind, op, name, what }) => [kind, op, name, what].join("|"),
    ({ path }) => path,
  ).map(({ first: { kind, op, path, name, what, a, b }, all, blocks }) => ({
    ...{ kind, op, name, what, a, b },
    path: patternOf(path, new Set(blocks).size === 1 ? 1 : all.length),
    count: all.length,
    blocks: rangesOf(blocks),
  }));
}

interface PlacedPair extends OpPair {
  readonly op: string;
  readonly path: string;
  readonly name: string;
  readonly deviceA: number;
  readonly deviceB: number;
  readonly secondsA: number | null;
  readonly secondsB: number | null;
}

const nodeOf = ({ graph }: RoutedGraph, id: number): Node => {
  const node = graph.nodes[id];
  invariant(node, `[compare] node ${id} of ${graph.name}`);
  return node;
};

function placedPairs({ pairs }: ComparedGraphs, { a, b }: RoutedPair): readonly PlacedPair[] {
  return pairs.map((pair) => {
    const node = pair.b === null ? nodeOf(a, pair.a ?? 0) : nodeOf(b, pair.b);
    const of = ({ route }: RoutedGraph, id: number | null): readonly [number, number | null] =>
      id === null ? [0, null] : [route.nodes.device[id] ?? 0, route.nodes.seconds[id] ?? 0];
    const [[deviceA, secondsA], [deviceB, secondsB]] = [of(a, pair.a), of(b, pair.b)];
    return {
      ...pair,
      ...{ op: node.op, path: scopeOf(node).join("/"), name: nodeName(node) },
      ...{ deviceA, deviceB, secondsA, secondsB },
    };
  });
}

const sum = (values: readonly (number | null)[]): number => values.reduce<number>((all, each) => all + (each ?? 0), 0);
const place = ({
  first: { op, path, name, a, b },
  all,
  blocks,
}: Fold<PlacedPair>): Pick<MovedOp, "op" | "path" | "name" | "a" | "b" | "count" | "blocks"> => ({
  ...{ op, name, a, b },
  path: patternOf(path, new Set(blocks).size === 1 ? 1 : all.length),
  count: all.length,
  blocks: rangesOf(blocks),
});

/** Ops of both that run elsewhere, those first that take longest. */
export function movedRows(compared: ComparedGraphs, routed: RoutedPair): readonly MovedOp[] {
  const reason = ({ route }: RoutedGraph, id: number | null): string =>
    id === null ? "" : (route.strings[route.nodes.reason[id] ?? 0] ?? "");
  const moved = placedPairs(compared, routed).filter(
    ({ a, b, deviceA, deviceB }) =>
      // What takes no part in a program (0) is nowhere, and so does not move.
      a !== null && b !== null && deviceA !== deviceB && deviceA !== 0 && deviceB !== 0,
  );
  return folded(
    moved,
    (pair) => {
      const reasons = [reason(routed.a, pair.a), reason(routed.b, pair.b)];
      return [pair.op, pair.name, pair.deviceA, pair.deviceB, ...reasons].join("|");
    },
    ({ path }) => path,
  )
    .map((fold) => ({
      ...place(fold),
      from: deviceOf(fold.first.deviceA),
      to: deviceOf(fold.first.deviceB),
      reasonA: reason(routed.a, fold.first.a),
      reasonB: reason(routed.b, fold.first.b),
      secondsA: sum(fold.all.map(({ secondsA }) => secondsA)),
      secondsB: sum(fold.all.map(({ secondsB }) => secondsB)),
    }))
    .sort((x, y) => Math.max(y.secondsA, y.secondsB) - Math.max(x.secondsA, x.secondsB));
}

/** Of the longer step: differences below it are no news. */
const LEAST_SHARE = 1e-4;

/** Ops by how much their predicted times differ. */
export function costRows(compared: ComparedGraphs, routed: RoutedPair): readonly CostlyDifference[] {
  const least = LEAST_SHARE * Math.max(routed.a.route.step.value, routed.b.route.step.value);
  const delta = ({ secondsA, secondsB }: Pick<CostlyDifference, "secondsA" | "secondsB">): number =>
    Math.abs((secondsB ?? 0) - (secondsA ?? 0));
  return folded(
    placedPairs(compared, routed),
    ({ op, name, deviceA, deviceB, a, b }) => [op, name, deviceA, deviceB, a === null, b === null].join("|"),
    ({ path }) => path,
  )
    .map((fold): CostlyDifference => ({
      ...place(fold),
      deviceA: deviceOf(fold.first.deviceA),
      deviceB: deviceOf(fold.first.deviceB),
      secondsA: fold.first.a === null ? null : sum(fold.all.map(({ secondsA }) => secondsA)),
      secondsB: fold.first.b === null ? null : sum(fold.all.map(({ secondsB }) => secondsB)),
    }))
    .filter((row) => delta(row) > least)
    .sort((x, y) => delta(y) - delta(x));
}
