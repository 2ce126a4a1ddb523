/**
 * Given:  %p = linear(%x, %w, %b?)   (read once)
 *         %y = add(%p, %r)           (either order, %r of the shape of %p)
 * Result: %y = linear_add(%x, %w, %r, %b?)
 */
import { sameShape } from "../../ir/type.ts";
import { fusion } from "./fusion.ts";

export const fuseLinearAdd = fusion(
  "fuse residual add",
  "The residual stream is added while a product's result is still in a register: a walk over the stream and a wait less.",
  (pattern) =>
    (node, { map, replace }) => {
      if (node.op !== "add") return undefined;
      const sides = [1, 0].flatMap((i) => {
        const product = pattern.operand(node, i, "linear");
        const residual = node.inputs[1 - i];
        return product && residual ? [{ product, residual }] : [];
      });
      // Where both sides are products, the later one takes the other in.
      const [side] = sides.toSorted((a, b) => b.product.id - a.product.id);
      if (!side) return undefined;
      const { product, residual } = side;
      const [x, w, bias] = product.inputs;
      if (!x || !w) return undefined;
      if (!pattern.readOnce(product)) return pattern.miss(node, "the product is read elsewhere too");
      const [type] = product.outputs;
      if (!type || !sameShape(type.shape, pattern.typeOf(residual).shape))
        return pattern.miss(node, "the other operand is stretched, or stretches the product");
      return replace([product]).apply("linear_add", [x, w, residual, ...(bias ? [bias] : [])].map(map));
    },
);
