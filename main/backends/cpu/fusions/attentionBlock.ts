/**
 * Given:  %q' = rope(rms_norm(%q, %qGamma)?, %cos, %sin)
 *         %k' = rope(rms_norm(%k, %kGamma)?, %cos, %sin)
 *         %K = kv_append(%kCache, %k', %past)   %V = kv_append(%vCache, %v, %past)
 *         %y = attention_cached(%q', %K, %V, %past, %sinks?)
 * Result: %y, %K, %V = attention_block(%q, %k, %v, %cos, %sin, %kCache, %vCache, %past, %qGamma?, %kGamma?, %sinks?)
 *
 * Only where nothing else reads what disappears, and where the caches are states that may be updated in place.
 */
import { attrsText } from "../../../ir/attributes.ts";
import type { Fusion } from "../../../ir/fusion.ts";
import type { Node, Value } from "../../../ir/graph.ts";
import { sameValue } from "../../../ir/graph.ts";
import type { Pattern } from "../../../ir/pass.ts";

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

/** Why q and k cannot be turned in one go; undefined when they can. */
function differ(q: Turned, k: Turned): string | undefined {
  const angles = [1, 2].every((i) => {
    const [a, b] = [q.rope.inputs[i], k.rope.inputs[i]];
    return a && b && sameValue(a, b);
  });
  if (!angles || !sameAttrs(q.rope, k.rope)) return "q and k are turned by different angles";
  if ((q.norm === undefined) !== (k.norm === undefined)) return "only one of q and k is normed";
  if (q.norm && k.norm && !sameAttrs(q.norm, k.norm)) return "the norms of q and k differ in eps";
  return undefined;
}

/** Why the kernel does not take these; undefined when it does. */
function unsuited(pattern: Pattern, rows: readonly Value[], caches: readonly Value[]): string | undefined {
  if (rows.some((value) => pattern.typeOf(value).dtype !== "f32")) return "q, k or v is not f32";
  if (caches.some((value) => !["f32", "f16"].includes(pattern.typeOf(value).dtype))) return "a cache is not f32 or f16";
  const [q, , v] = rows.map((value) => pattern.typeOf(value).shape.at(-1));
  return q === v ? undefined : "values have another size than keys";
}

/** Why the block at `attention` cannot update a cache in place; undefined when it can. */
function notInPlace(pattern: Pattern, append: Node, attention: Node): string | undefined {
  const [cache] = append.inputs;
  const next: Value = { node: append.id, output: 0 };
  const state = cache && pattern.stateOf(cache.node);
  if (!cache || !state || !sameValue(state.output, next)) return "a cache is not the state that it becomes";
  // An output that shows the old value is copied before anything runs.
  if (pattern.usesOf(cache) - pattern.outputsOf(cache) !== 1)
    return "the old value of a cache is read by something else";
  const between = pattern.graph.nodes.slice(append.id + 1, attention.id);
  return between.some(({ inputs }) => inputs.some((value) => sameValue(value, next)))
    ? "a cache is read by something else before the attention"
    : undefined;
}

export const attentionBlock: Fusion = {
  name: "fuse attention",
  reason:
    "Norms, rotation, the appends and attention are small steps: while generating they cost more in waiting than in work.",
  rules:
    (pattern) =>
    (node, { map, replace }) => {
      if (node.op !== "attention_cached") return undefined;
      const [qValue, , , past, sinks] = node.inputs;
      const [kAppend, vAppend] = [pattern.operand(node, 1, "kv_append"), pattern.operand(node, 2, "kv_append")];
      if (!kAppend || !vAppend || !past) return pattern.miss(node, "the caches do not come straight from kv_append");
      const [kCache, kValue, kPast] = kAppend.inputs;
      const [vCache, v, vPast] = vAppend.inputs;
      const [q, k] = [turned(pattern, qValue), turned(pattern, kValue)];
      if (!q || !k || !kCache || !vCache || !v || !kPast || !vPast)
        return pattern.miss(node, "q and k are not both turned by rope");
      if (![kPast, vPast].every((value) => sameValue(value, past))) return pattern.miss(node, "positions differ");
      const why =
        differ(q, k) ??
        ([kAppend, vAppend].every((append) => append.attrs["ring"] === node.attrs["ring"])
          ? undefined
          : "only some of the caches and the attention are of rings") ??
        (pattern.readOnce(q.rope) && pattern.readOnce(k.rope) ? undefined : "q or k is read elsewhere too") ??
        unsuited(pattern, [q.source, k.source, v], [kCache, vCache]) ??
        [kAppend, vAppend].map((append) => notInPlace(pattern, append, node)).find((reason) => reason !== undefined);
      if (why !== undefined) return pattern.miss(node, why);
      const parts = [q.norm, q.rope, k.norm, k.rope, kAppend, vAppend].filter((part) => part !== undefined);
      const gammas = q.gamma && k.gamma ? [q.gamma, k.gamma] : [];
      const angles = q.rope.inputs.slice(1);
      const perHead = sinks === undefined ? [] : [sinks];
      const operands = [q.source, k.source, v, ...angles, kCache, vCache, past, ...gammas, ...perHead].map(map);
      const { dims, style } = q.rope.attrs;
      const attrs = { ...node.attrs, dims, style, ...(q.norm ? { eps: q.norm.attrs["eps"] } : {}) };
      const fused = replace(parts);
      const [result, keys, values] = fused.apply("attention_block", operands, attrs);
      if (!result || !keys || !values) return undefined;
      fused.redirect({ node: kAppend.id, output: 0 }, keys);
      fused.redirect({ node: vAppend.id, output: 0 }, values);
      return [result];
    },
};
