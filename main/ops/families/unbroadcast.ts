/** Sums a cotangent back to the shape of an operand that was broadcast. */
import type { Value } from "../../ir/graph.ts";
import { sameShape } from "../../ir/type.ts";
import { ofEachPart } from "../complexParts.ts";
import type { OpBuilder } from "../opBuilder.ts";

export function unbroadcast(g: OpBuilder, ct: Value, operand: Value): Value {
  const from = g.typeOf(ct).shape;
  const to = g.typeOf(operand).shape;
  if (sameShape(from, to)) return ct;
  const extra = from.length - to.length;
  const axes = from.flatMap((dim, i) => (i < extra || to[i - extra] !== dim ? [i] : []));
  return ofEachPart(g, ct, (part) => {
    const summed = g.reduce([part], { kind: "sum", axes, keepDims: true });
    return g.reshape([summed], { shape: to });
  });
}
