/**
 * Given:  %g = silu(%gate)
 *         %y = mul(%g, %up)          (either order, %g read once, shapes equal)
 * Result: %y = swiglu(%gate, %up)
 */
import type { Node } from "../../ir/graph.ts";
import { sameShape } from "../../ir/type.ts";
import { fusion } from "./fusion.ts";

export const fuseSwiglu = fusion(
  "fuse swiglu",
  "One walk over the two halves of a gated feed-forward block instead of two, without a buffer between them.",
  (pattern) =>
    (node, { map, replace }) => {
      if (node.op !== "mul") return undefined;
      const sides = [0, 1].map((i) => ({ silu: pattern.operand(node, i, "silu"), up: node.inputs[1 - i] }));
      const side = sides.find(({ silu }) => silu !== undefined);
      if (!side?.silu || !side.up) return undefined;
      const { silu, up } = side as { readonly silu: Node; readonly up: Node["inputs"][number] };
      const [gate] = silu.inputs;
      if (!gate) return undefined;
      if (!pattern.readOnce(silu)) return pattern.miss(node, "the activation is read elsewhere too");
      if (!sameShape(pattern.typeOf(gate).shape, pattern.typeOf(up).shape))
        return pattern.miss(node, "the two halves differ in shape: one is stretched");
      return replace([silu]).apply("swiglu", [map(gate), map(up)]);
    },
);
