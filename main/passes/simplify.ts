/**
 * Given: a node that changes nothing (reshape, transpose, expand or cast to what it has), or two
 * movements in a row (reshape of reshape, transpose of transpose, expand of expand, cast back to
 * what a widening cast came from).
 * Result: the operand, or one movement.
 *
 * Given: an idempotent operation on its own result (relu of relu, clamp of the same clamp), or the
 * larger or smaller of a value and itself.
 * Result: the operand.
 *
 * Given: an operation that undoes itself, twice (neg, logical_not, bit_not, conjugate).
 * Result: what it began with.
 *
 * Ranges, borders, joins, copies and turns: `rangeMovements.ts` and `turnMovements.ts`.
 */
import type { Steps } from "../ir/steps.ts";
import { attrsText } from "../ir/attributes.ts";
import type { DType } from "../ir/dtype.ts";
import { keepsValues } from "../ir/dtype.ts";
import type { Node, Value } from "../ir/graph.ts";
import { sameValue } from "../ir/graph.ts";
import { rewrite } from "../ir/rewrite.ts";
import type { RewriteRule } from "../ir/rewrite.ts";
import { sameShape, sameType } from "../ir/type.ts";
import { opTable } from "../ops/index.ts";
import type { Pass, PassOutcome } from "../ir/pass.ts";
import { Pattern, walkingPass } from "../ir/pass.ts";
import type { Look, Movement } from "./movement.ts";
import { numbers } from "./movement.ts";
import { RANGE_MOVEMENTS } from "./rangeMovements.ts";
import { TURN_MOVEMENTS } from "./turnMovements.ts";

const NAME = "simplify";

const MOVEMENTS: readonly Movement[] = [...RANGE_MOVEMENTS, ...TURN_MOVEMENTS];
const MOVED: ReadonlyMap<string, readonly Movement[]> = new Map(
  MOVEMENTS.flatMap(({ ops }) => ops).map((op) => [op, MOVEMENTS.filter(({ ops }) => ops.includes(op))]),
);

function simpler(
  pattern: Pattern,
  node: Node,
  map: (old: Value) => Value,
  replace: Parameters<RewriteRule>[2],
): readonly Value[] | undefined {
  const [x] = node.inputs;
  const [type] = node.outputs;
  if (!x || !type) return undefined;
  const before = pattern.typeOf(x);
  const inner = pattern.operand(node, 0, node.op);
  const source = inner?.inputs[0];
  switch (node.op) {
    case "reshape":
      if (sameShape(before.shape, type.shape)) return [map(x)];
      if (!inner || !source) return undefined;
      if (sameType(pattern.typeOf(source), type)) return [map(source)];
      return replace([inner]).apply("reshape", [map(source)], node.attrs);
    case "transpose": {
      const perm = numbers(node.attrs["perm"]);
      if (perm.every((axis, i) => axis === i)) return [map(x)];
      if (!inner || !source) return undefined;
      const first = numbers(inner.attrs["perm"]);
      const both = perm.map((axis) => first[axis] ?? axis);
      return both.every((axis, i) => axis === i)
        ? [map(source)]
        : replace([inner]).apply("transpose", [map(source)], { perm: both });
    }
    case "expand":
      if (sameShape(before.shape, type.shape)) return [map(x)];
      if (inner && source) return replace([inner]).apply("expand", [map(source)], node.attrs);
      return moved({ pattern, map, replace }, node, x);
    case "cast":
      if (before.dtype === type.dtype) return [map(x)];
      return inner &&
        source &&
        pattern.typeOf(source).dtype === type.dtype &&
        keepsValues(type.dtype as DType, before.dtype as DType)
        ? [map(source)]
        : undefined;
    default:
      return MOVED.has(node.op) ? moved({ pattern, map, replace }, node, x) : withoutRepeat(node, inner, map);
  }
}

/** By the first of its rules that says something else. */
function moved(look: Look, node: Node, x: Value): readonly Value[] | undefined {
  for (const { apply } of MOVED.get(node.op) ?? []) {
    const value = apply(look, node, x);
    if (value !== undefined) return [value];
  }
  return undefined;
}

const SELF_INVERSE: ReadonlySet<string> = new Set(["neg", "logical_not", "bit_not", "conjugate"]);

function withoutRepeat(node: Node, inner: Node | undefined, map: (old: Value) => Value): readonly Value[] | undefined {
  const [x, other] = node.inputs;
  const source = inner?.inputs[0];
  const isRepeated = inner !== undefined && attrsText(inner.attrs) === attrsText(node.attrs);
  if (x && opTable.get(node.op)?.traits.includes("idempotent") === true)
    return (other ? sameValue(x, other) : isRepeated) ? [map(x)] : undefined;
  return source && isRepeated && SELF_INVERSE.has(node.op) ? [map(source)] : undefined;
}

function* once(graph: Parameters<Pass["run"]>[0]): Steps<PassOutcome> {
  const pattern = new Pattern(graph);
  yield;
  const {
    graph: next,
    moved,
    changed,
  } = yield* rewrite(opTable, graph, NAME, (node, map, replace) => simpler(pattern, node, map, replace));
  return { graph: next, moved, hits: changed, misses: [] };
}

export const simplify: Pass = walkingPass(
  {
    name: NAME,
    reason:
      "Before the fusions: decompositions and casts leave movements that cancel, and would stand between the parts of a pattern.",
  },
  function* (graph) {
    let outcome = yield* once(graph);
    // A chain of n movements shrinks by half each time.
    for (let hits = outcome.hits; hits > 0;) {
      const next = yield* once(outcome.graph);
      hits = next.hits;
      const { moved } = outcome;
      if (hits > 0)
        outcome = {
          graph: next.graph,
          moved: moved.map((id) => (id < 0 ? -1 : (next.moved[id] ?? -1))),
          hits: outcome.hits + hits,
          misses: [],
        };
    }
    return outcome;
  },
);
