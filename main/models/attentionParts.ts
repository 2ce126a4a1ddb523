/**
 * Attention over the caches built of parts, for what no backend has a kernel for yet. Sinks: a learned score for
 * each head takes part in the softmax and has no value, so that a token may attend to nothing. Chunks: a token
 * sees the positions of its own run of so many, and none before.
 */
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { AttentionCachedAttrs } from "../ops/attention/attention_cached.ts";
import { groupOf, hideScores, scaleScores, visibleKeys } from "../ops/families/attention.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";

export interface AttentionParts extends AttentionCachedAttrs {
  /** [H] */
  readonly sinks?: Value;
  readonly chunk?: number;
}

/** q [T, H, D] over caches [Hkv, capacity, D], past i32 → [T, H, D] */
export function attentionOfParts(
  g: OpBuilder,
  [q, k, v, past]: readonly [Value, Value, Value, Value],
  parts: AttentionParts,
): Value {
  const [tokens = 0, heads = 0, size = 0] = g.typeOf(q).shape;
  const [kvHeads = 0, capacity = 0, valueSize = 0] = g.typeOf(v).shape;
  const group = groupOf("attention", heads, kvHeads);
  const wide = (x: Value): Value => (g.typeOf(x).dtype === "f32" ? x : g.cast([x], { to: "f32" }));
  const rows = g.reshape([g.transpose([q], { perm: [1, 0, 2] })], { shape: [kvHeads, group, tokens, size] });
  const keys = g.reshape([g.transpose([wide(k)], { perm: [0, 2, 1] })], { shape: [kvHeads, 1, size, capacity] });
  const scores = scaleScores(g, g.matmul([rows, keys]), parts);
  const position = g.add([g.iota([], { shape: [tokens, 1], axis: 0 }), past]);
  const places = g.iota([], { shape: [capacity], axis: 0 });
  const seen = visibleKeys(g, position, places, parts.window);
  const visible = parts.chunk === undefined ? seen : inChunk(g, seen, position, places, parts.chunk);
  const hidden = hideScores(g, scores, visible);
  const values = g.reshape([wide(v)], { shape: [kvHeads, 1, capacity, valueSize] });
  const mixed =
    parts.sinks === undefined
      ? g.matmul([g.softmax([hidden], { axis: 3 }), values])
      : withSinks(g, hidden, values, g.reshape([parts.sinks], { shape: [kvHeads, group, 1, 1] }));
  const joined = g.reshape([mixed], { shape: [heads, tokens, valueSize] });
  return g.transpose([joined], { perm: [1, 0, 2] }, "attention");
}

/** What is seen, from the first position of the row's chunk on. */
function inChunk(g: OpBuilder, seen: Value, position: Value, places: Value, chunk: number): Value {
  const number = (value: number): Value => g.constant(hostScalar("f32", value));
  const asFloat = (x: Value): Value => g.cast([x], { to: "f32" });
  const first = g.mul([g.floor([g.div([asFloat(position), number(chunk)])]), number(chunk)]);
  const from = g.compare([asFloat(places), first], { op: "ge" });
  return g.where([from, seen, g.constant(hostScalar("bool", 0))]);
}

/** The values by the softmax of the scores and the sink, without the sink's own share. */
function withSinks(g: OpBuilder, scores: Value, values: Value, sink: Value): Value {
  const most = g.maximum([g.reduce([scores], { kind: "max", axes: [3], keepDims: true }), sink]);
  const shares = g.exp([g.sub([scores, most])]);
  const total = g.add([g.reduce([shares], { kind: "sum", axes: [3], keepDims: true }), g.exp([g.sub([sink, most])])]);
  return g.div([g.matmul([shares, values]), total]);
}
