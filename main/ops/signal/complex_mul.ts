import type { NoAttrs } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { COMPLEX_ORACLE, complexPairs, inferPairs, join, mapPairs, split } from "../families/complex.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import type { OpBuilder } from "../opBuilder.ts";

function parts(g: OpBuilder, [x, y]: readonly [Value, Value]): Value {
  const [[a, b], [c, d]] = [split(g, x), split(g, y)];
  return join(g, [g.sub([g.mul([a, c]), g.mul([b, d])]), g.add([g.mul([a, d]), g.mul([b, c])])]);
}

export const complex_mul: Op<"complex_mul", NoAttrs, 2> = defineOp({
  name: "complex_mul",
  summary:
    "The product of complex numbers, of which the last axis holds the real parts and then the imaginary parts, as for fft; the other axes broadcast. Their sums are add and sub.",
  arity: 2,
  operands: ["left", "right"],
  outputs: "one",
  attributes: {},
  infer: (pair) => inferPairs("complex_mul", pair),
  reference: (pair) => mapPairs(pair, ([a, b], [c, d]) => [a * c - b * d, a * d + b * c]),
  oracle: { numpy: lines(COMPLEX_ORACLE, "block(z(x0) * z(x1))") },
  ...byParts(parts),
  traits: ["pure"],
  samples: complexPairs,
});
