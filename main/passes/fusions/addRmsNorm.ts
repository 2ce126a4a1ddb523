/**
 * Given:  %s = add(%a, %b)            (same shape)
 *         %y = rms_norm(%s, %gamma)   (no beta)
 * Result: %s, %y = add_rms_norm(%a, %b, %gamma)
 */
import type { Node, Value } from "../../ir/graph.ts";
import { sameType } from "../../ir/type.ts";
import type { Pattern } from "../pass.ts";
import { fusion } from "./fusion.ts";

/** Norms that can take their add in, by the id of the add. */
function findNorms(pattern: Pattern): ReadonlyMap<number, Node> {
  const norms = new Map<number, Node>();
  for (const node of pattern.graph.nodes) {
    if (node.op !== "rms_norm") continue;
    const add = pattern.operand(node, 0, "add");
    const [a, b] = add?.inputs ?? [];
    const gamma = node.inputs[1];
    if (!add || !a || !b || !gamma) continue;
    const source = pattern.graph.nodes[gamma.node];
    if (node.inputs.length > 2) pattern.miss(node, "the norm adds a beta");
    else if (!sameType(pattern.typeOf(a), pattern.typeOf(b))) pattern.miss(node, "one operand of the sum is stretched");
    else if (norms.has(add.id)) pattern.miss(node, "another norm of the same sum took it");
    else if (gamma.node > add.id && source?.op !== "param" && source?.op !== "constant")
      pattern.miss(node, "the scale is computed after the sum");
    else norms.set(add.id, node);
  }
  return norms;
}

export const fuseAddRmsNorm = fusion(
  "fuse add and norm",
  "After the residual adds that products took in: what is left of sum and norm is one walk over the row instead of two.",
  (pattern) => {
    const norms = findNorms(pattern);
    const normed = new Map<number, Value>();
    return (node, { map, replace }) => {
      const ready = normed.get(node.id);
      if (ready) return [ready];
      const norm = norms.get(node.id);
      const [a, b] = node.inputs;
      const gamma = norm?.inputs[1];
      if (!norm || !a || !b || !gamma) return undefined;
      const [sum, result] = replace([norm]).apply("add_rms_norm", [a, b, gamma].map(map), norm.attrs);
      if (!sum || !result) return undefined;
      normed.set(norm.id, result);
      return [sum];
    };
  },
);
