/**
 * Given:  %q' = rope(rms_norm(%q, %qNorm)?, %cos, %sin)
 *         %k' = rope(rms_norm(%k, %kNorm)?, %cos, %sin)
 *         %K = kv_append(%kCache, %k', %past)   %V = kv_append(%vCache, %v, %past)
 *         %y = attention_cached(%q', %K, %V, %past)
 * Result: %q', %K, %V = rope_append(%q, %k, %v, %cos, %sin, %kCache, %vCache, %past, %qNorm?, %kNorm?)
 *         %y = attention_cached(%q', %K, %V, %past)
 */
import { attrsText } from "../../ir/attributes.ts";
import type { Node, Value } from "../../ir/graph.ts";
import { sameValue } from "../../ir/graph.ts";
import type { Pattern } from "../pass.ts";
import { fusion } from "./fusion.ts";

interface Turned {
  readonly rope: Node;
  readonly norm: Node | undefined;
  /** Before norm and rope. */
  readonly source: Value;
  readonly gamma: Value | undefined;
}

function turned(pattern: Pattern, value: Value | undefined): Turned | undefined {
  const rope = value && pattern.producer(value, "rope");
  const [x] = rope?.inputs ?? [];
  if (!rope || !x) return undefined;
  const norm = pattern.operand(rope, 0, "rms_norm");
  const [source, gamma, beta] = norm?.inputs ?? [];
  return norm && source && gamma && beta === undefined && pattern.readOnce(norm)
    ? { rope, norm, source, gamma }
    : { rope, norm: undefined, source: x, gamma: undefined };
}

const sameAttrs = (a: Node, b: Node): boolean => attrsText(a.attrs) === attrsText(b.attrs);

/** Uses of a cache after the step: attention, and the state it becomes. */
function readByAttentionOnly(pattern: Pattern, append: Node): boolean {
  const cache: Value = { node: append.id, output: 0 };
  return pattern.usesOf(cache) <= 1 + pattern.statesThatBecome(cache);
}

export const fuseRopeAppend = fusion(
  "fuse rope and append",
  "Five small steps over a few thousand numbers become one: while generating they cost more in waiting than in work.",
  (pattern) =>
    (node, { map, replace }) => {
      if (node.op !== "attention_cached") return undefined;
      const [qValue, , , past] = node.inputs;
      const [kAppend, vAppend] = [pattern.operand(node, 1, "kv_append"), pattern.operand(node, 2, "kv_append")];
      if (!kAppend || !vAppend || !past) return pattern.miss(node, "the caches do not come straight from kv_append");
      const [kCache, kValue, kPast] = kAppend.inputs;
      const [vCache, v, vPast] = vAppend.inputs;
      const [q, k] = [turned(pattern, qValue), turned(pattern, kValue)];
      if (!q || !k || !kCache || !vCache || !v || !kPast || !vPast)
        return pattern.miss(node, "q and k are not both turned by rope");
      if (![kPast, vPast].every((value) => sameValue(value, past))) return pattern.miss(node, "positions differ");
      const [, cos, sin] = q.rope.inputs;
      const tables = k.rope.inputs.slice(1);
      if (
        !cos ||
        !sin ||
        !tables[0] ||
        !tables[1] ||
        !sameValue(tables[0], cos) ||
        !sameValue(tables[1], sin) ||
        !sameAttrs(q.rope, k.rope)
      )
        return pattern.miss(node, "q and k are turned by different angles");
      if ((q.norm === undefined) !== (k.norm === undefined)) return pattern.miss(node, "only one of q and k is normed");
      if (q.norm && k.norm && !sameAttrs(q.norm, k.norm))
        return pattern.miss(node, "the norms of q and k differ in eps");
      if (!pattern.readOnce(q.rope) || !pattern.readOnce(k.rope))
        return pattern.miss(node, "q or k is read elsewhere too");
      if (!readByAttentionOnly(pattern, kAppend) || !readByAttentionOnly(pattern, vAppend))
        return pattern.miss(node, "a cache is read by something else in the same step");
      const parts = [q.norm, q.rope, k.norm, k.rope, kAppend, vAppend].filter((part) => part !== undefined);
      const norms = q.gamma && k.gamma ? [q.gamma, k.gamma] : [];
      const operands = [q.source, k.source, v, cos, sin, kCache, vCache, past, ...norms].map(map);
      const { dims, style } = q.rope.attrs;
      const fused = replace();
      const attrs = { dims, style, eps: q.norm?.attrs["eps"] ?? 0 };
      const [newQ, newK, newV] = fused.apply("rope_append", operands, attrs, { of: parts });
      if (!newQ || !newK || !newV) return undefined;
      fused.redirect({ node: kAppend.id, output: 0 }, newK);
      fused.redirect({ node: vAppend.id, output: 0 }, newV);
      return fused.apply("attention_cached", [newQ, newK, newV, map(past)], node.attrs);
    },
);
