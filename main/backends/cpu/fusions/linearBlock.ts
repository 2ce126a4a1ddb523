/**
 * Linear blocks: what stands around matrix products that read the same rows becomes one op, `linear_block`. A layer
 * then needs few barriers, the rows are prepared once, and sums and gates are taken while products are in registers.
 * Four fusions build it up, in this order:
 *
 *   gated linear      silu(linear(x, wg)) · linear(x, wu)          → linear_block(x, wg, wu) {gated}
 *   sibling products  linear(x, wq); linear(x, wk); linear(x, wv)  → q, k, v = linear_block(x, wq, wk, wv)
 *   residual add      linear(x, w) + r                             → linear_block(x, r, w) {residual}
 *   norm              linear_block(rms_norm(x, gamma), …)          → linear_block(x, gamma, …) {eps}
 *
 * Nothing is computed twice: a part is taken in only when nothing else reads it.
 */
import type { Node, Value } from "../../../ir/graph.ts";
import { sameValue, valueKey } from "../../../ir/graph.ts";
import type { Fusion } from "../../../ir/fusion.ts";
import type { Pattern } from "../../../ir/pass.ts";
import type { Replacement } from "../../../ir/rewrite.ts";
import { sameShape, sameType } from "../../../ir/type.ts";
import type { LinearBlock } from "../rules.ts";
import { closeLinearBlock, openLinearBlock } from "../rules.ts";

type Block = LinearBlock<Value>;

/** A product or a block of them, by the names of its operands; undefined for other ops and for float64. */
function blockOf(pattern: Pattern, node: Node | undefined): Block | undefined {
  if (node === undefined) return undefined;
  if (node.op === "linear_block") return openLinearBlock(node.inputs, node.attrs);
  const [x, weight, bias] = node.inputs;
  if (node.op !== "linear" || x === undefined || weight === undefined) return undefined;
  // The kernel computes in f32.
  if ([x, weight].some((value) => pattern.typeOf(value).dtype === "f64")) return undefined;
  return { x, norm: undefined, residual: undefined, gated: false, products: [{ weight, bias }] };
}

function makeBlock(replacement: Replacement, block: Block, map: (old: Value) => Value): readonly Value[] {
  const { operands, attrs } = closeLinearBlock(block);
  return replacement.apply("linear_block", operands.map(map), { ...attrs });
}

/**
 * Given:  %g = linear(%x, %wg, %bg?)   %u = linear(%x, %wu, %bu?)
 *         %y = mul(silu(%g), %u)       (either order; %g, %u and the silu read once)
 * Result: %y = linear_block(%x, %wg, %bg?, %wu, %bu?) {gated}
 */
export const gatedLinear: Fusion = {
  name: "fuse gated linear",
  reason:
    "First of the blocks: the operand is prepared once for both weights, and their products never leave registers.",
  rules:
    (pattern) =>
    (node, { map, replace }) => {
      if (node.op !== "mul") return undefined;
      const sides = [0, 1].flatMap((i) => {
        const silu = pattern.operand(node, i, "silu");
        return silu ? [{ silu, up: pattern.operand(node, 1 - i, "linear") }] : [];
      });
      const side = sides.find(({ up }) => up !== undefined) ?? sides[0];
      if (side === undefined) return undefined;
      const { silu, up } = side;
      const gate = pattern.operand(silu, 0, "linear");
      const [first, second] = [blockOf(pattern, gate), blockOf(pattern, up)];
      if (!gate || !up || !first || !second)
        return pattern.miss(node, "the halves do not come straight from two products");
      if (!pattern.readOnce(silu)) return pattern.miss(node, "the activation is read elsewhere too");
      if (!sameValue(first.x, second.x)) return pattern.miss(node, "the two products have different operands");
      if (!pattern.readOnce(gate) || !pattern.readOnce(up))
        return pattern.miss(node, "a product is read elsewhere too");
      const [a, b] = [gate.outputs[0], up.outputs[0]];
      if (!a || !b || !sameShape(a.shape, b.shape))
        return pattern.miss(node, "the two halves differ in shape: one is stretched");
      const products = [...first.products, ...second.products];
      return makeBlock(replace([gate, up, silu]), { ...first, gated: true, products }, map);
    },
};

/** Products that read the same rows, by the id of each. The first is where the block will stand. */
function siblings(pattern: Pattern): ReadonlyMap<number, readonly Node[]> {
  const byRows = new Map<string, Node[]>();
  for (const node of pattern.graph.nodes) {
    const block = blockOf(pattern, node);
    if (block === undefined || block.gated || block.norm || block.residual) continue;
    const rows = valueKey(block.x);
    const family = byRows.get(rows) ?? [];
    byRows.set(rows, family);
    const first = family[0] ?? node;
    // What a product reads must be there already where the first one stands.
    const late = node.inputs.some(
      (value) => value.node > first.id && !["param", "constant"].includes(pattern.graph.nodes[value.node]?.op ?? ""),
    );
    if (late) pattern.miss(node, "a weight or bias is computed after the first product of these rows");
    else family.push(node);
  }
  const found = new Map<number, readonly Node[]>();
  for (const family of byRows.values()) if (family.length > 1) for (const node of family) found.set(node.id, family);
  return found;
}

/**
 * Given:  %q = linear(%x, %wq, %bq?)  %k = linear(%x, %wk, %bk?)  …
 * Result: %q, %k, … = linear_block(%x, %wq, %bq?, %wk, %bk?, …)
 */
export const siblingProducts: Fusion = {
  name: "fuse sibling products",
  reason:
    "After the gates, which are products of one operand too: q, k and v become one piece of work behind one barrier.",
  rules: (pattern) => {
    const families = siblings(pattern);
    const made = new Map<readonly Node[], Map<number, readonly Value[]>>();
    const fuse = (
      family: readonly Node[],
      { map, replace }: Parameters<ReturnType<Fusion["rules"]>>[1],
    ): Map<number, readonly Value[]> => {
      const blocks = family.flatMap((node) => blockOf(pattern, node) ?? []);
      const [first] = blocks;
      const results = new Map<number, readonly Value[]>();
      if (first === undefined) return results;
      const products = blocks.flatMap((block) => block.products);
      const values = makeBlock(replace(family), { ...first, products }, map);
      let at = 0;
      for (const node of family) results.set(node.id, values.slice(at, (at += node.outputs.length)));
      return results;
    };
    return (node, context) => {
      const family = families.get(node.id);
      if (family === undefined) return undefined;
      const results = made.get(family) ?? fuse(family, context);
      made.set(family, results);
      return results.get(node.id);
    };
  },
};

/**
 * Given:  %p = linear(%x, %w, %b?)     (or a gated block; read once)
 *         %y = add(%p, %r)             (either order, %r of the type of %p)
 * Result: %y = linear_block(%x, %r, %w, %b?) {residual}
 */
export const residualAdd: Fusion = {
  name: "fuse residual add",
  reason:
    "The residual stream is added while a product's result is still in a register: a walk over it and a wait less.",
  rules:
    (pattern) =>
    (node, { map, replace }) => {
      if (node.op !== "add") return undefined;
      const sides = [1, 0].flatMap((i) => {
        const [value, residual] = [node.inputs[i], node.inputs[1 - i]];
        const product = value && pattern.graph.nodes[value.node];
        const block = blockOf(pattern, product);
        return product && residual && block ? [{ product, residual, block }] : [];
      });
      // Where both sides are products, the later one takes the other in.
      const [side] = sides.toSorted((a, b) => b.product.id - a.product.id);
      if (side === undefined) return undefined;
      const { product, residual, block } = side;
      if (product.outputs.length > 1) return pattern.miss(node, "the product is one of several in a block");
      if (block.residual) return pattern.miss(node, "the block adds another residual");
      if (!pattern.readOnce(product)) return pattern.miss(node, "the product is read elsewhere too");
      const [type] = product.outputs;
      if (!type || !sameType(type, pattern.typeOf(residual)))
        return pattern.miss(node, "the other operand is stretched, or stretches the product");
      return makeBlock(replace([product]), { ...block, residual }, map);
    },
};

/**
 * Given:  %n = rms_norm(%x, %gamma)        (read once, reshapes between them too)
 *         %y, … = linear_block(%n, …)      (or one linear)
 * Result: %y, … = linear_block(%x, %gamma, …) {eps}
 */
export const normIntoBlock: Fusion = {
  name: "fuse norm",
  reason: "Last of the blocks, when all readers of a norm are in one: its rows are normed where they are prepared.",
  rules:
    (pattern) =>
    (node, { map, replace }) => {
      const block = blockOf(pattern, node);
      if (block === undefined || block.norm) return undefined;
      const view = pattern.producer(block.x, "reshape");
      const norm = view ? pattern.operand(view, 0, "rms_norm") : pattern.producer(block.x, "rms_norm");
      const [x, gamma, beta] = norm?.inputs ?? [];
      if (!norm || !x || !gamma) return undefined;
      if (beta) return pattern.miss(node, "the norm adds a beta");
      if (!pattern.readOnce(norm) || (view && !pattern.readOnce(view)))
        return pattern.miss(node, "the norm is read elsewhere too");
      if (pattern.typeOf(block.x).shape.at(-1) !== pattern.typeOf(x).shape.at(-1))
        return pattern.miss(node, "the rows of the product are not those that were normed");
      const replacement = replace(view ? [norm, view] : [norm]);
      const [rows] = view ? replacement.apply("reshape", [map(x)], view.attrs, { of: [view] }) : [map(x)];
      const { operands, attrs } = closeLinearBlock({ ...block, norm: { gamma, eps: Number(norm.attrs["eps"]) } });
      const [, ...others] = operands;
      return rows && replacement.apply("linear_block", [rows, ...others.map(map)], { ...attrs });
    },
};
