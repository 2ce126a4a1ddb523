import type { NoAttrs } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { COMPLEX_ORACLE, complexPairs, inferPairs, join, mapPairs, split } from "../families/complex.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** By the conjugate of the divisor over its norm². */
function parts(g: OpBuilder, [x, y]: readonly [Value, Value]): Value {
  const [[a, b], [c, d]] = [split(g, x), split(g, y)];
  const size = g.add([g.square([c]), g.square([d])]);
  const re = g.add([g.mul([a, c]), g.mul([b, d])]);
  const im = g.sub([g.mul([b, c]), g.mul([a, d])]);
  return join(g, [g.div([re, size]), g.div([im, size])]);
}

export const complex_div: Op<"complex_div", NoAttrs, 2> = defineOp({
  name: "complex_div",
  summary: "The quotient of complex numbers, laid out as for complex_mul; by 0 it is no number.",
  arity: 2,
  operands: ["left", "right"],
  outputs: "one",
  attributes: {},
  infer: (pair) => inferPairs("complex_div", pair),
  reference: (pair) =>
    mapPairs(pair, ([a, b], [c, d]) => {
      const size = c * c + d * d;
      return [(a * c + b * d) / size, (b * c - a * d) / size];
    }),
  oracle: { numpy: lines(COMPLEX_ORACLE, "block(z(x0) / z(x1))") },
  ...byParts(parts),
  traits: ["pure", "sensitive"],
  samples: complexPairs,
});
