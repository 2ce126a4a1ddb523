/**
 * Given:  %q = linear(%x, %wq, %bq?)  %k = linear(%x, %wk, %bk?)  %v = linear(%x, %wv, %bv?)
 *         that reach one rope_append or attention_cached through reshapes (all three biases or none)
 * Result: %q, %k, %v = qkv_linear(%x, %wq, %wk, %wv, biases)
 */
import type { Node, Value } from "../../ir/graph.ts";
import { sameValue } from "../../ir/graph.ts";
import type { Pattern } from "../pass.ts";
import { fusion } from "./fusion.ts";

type Three<T> = readonly [T, T, T];

/** The product behind a value, through reshapes that nothing else reads. */
function productBehind(pattern: Pattern, value: Value | undefined): Node | undefined {
  if (!value || value.output !== 0) return undefined;
  const node = pattern.graph.nodes[value.node];
  if (node?.op === "reshape" && pattern.readOnce(node)) return productBehind(pattern, node.inputs[0]);
  return node?.op === "linear" ? node : undefined;
}

/** Operands of the fused node: x, three weights, then biases. Undefined with a miss where the three do not fit. */
function operandsOf(pattern: Pattern, at: Node, products: Three<Node>): readonly Value[] | undefined {
  const [q, k, v] = products;
  const xs = products.map((node) => node.inputs[0]);
  const [x] = xs;
  if (!x || xs.some((other) => !other || !sameValue(other, x)))
    return pattern.miss(at, "q, k and v are products of different operands");
  const biases = products.flatMap((node) => node.inputs.slice(2));
  if (biases.length !== 0 && biases.length !== 3) return pattern.miss(at, "only some of q, k and v add a bias");
  // The fused node stands where the first product stood: what it reads must be there already.
  const first = Math.min(q.id, k.id, v.id);
  const movable = (value: Value): boolean =>
    value.node < first ||
    pattern.graph.nodes[value.node]?.op === "param" ||
    pattern.graph.nodes[value.node]?.op === "constant";
  const rest = [...products.flatMap((node) => node.inputs.slice(1, 2)), ...biases];
  if (!rest.every(movable)) return pattern.miss(at, "a weight or bias is computed after the first product");
  return [x, ...rest];
}

/** Triples by the id of each of their products. */
function findTriples(pattern: Pattern): ReadonlyMap<number, Three<Node>> {
  const triples = new Map<number, Three<Node>>();
  for (const node of pattern.graph.nodes) {
    if (node.op !== "rope_append") continue;
    const [q, k, v] = node.inputs.slice(0, 3).map((value) => productBehind(pattern, value));
    if (!q || !k || !v) {
      pattern.miss(node, "q, k or v does not come from a product through reshapes");
      continue;
    }
    const triple: Three<Node> = [q, k, v];
    if (operandsOf(pattern, node, triple)) for (const product of triple) triples.set(product.id, triple);
  }
  return triples;
}

export const fuseQkvLinear = fusion(
  "fuse q, k, v",
  "After rope_append has marked which products are q, k and v: three products of one operand become one piece of work.",
  (pattern) => {
    const triples = findTriples(pattern);
    const made = new Map<Three<Node>, readonly Value[]>();
    return (node, { map, replace }) => {
      const triple = triples.get(node.id);
      if (!triple) return undefined;
      let values = made.get(triple);
      if (!values) {
        const operands = operandsOf(pattern, node, triple) ?? [];
        values = replace(triple).apply("qkv_linear", operands.map(map));
        made.set(triple, values);
      }
      const mine = values[triple.indexOf(node)];
      return mine ? [mine] : undefined;
    };
  },
);
