import type { NoAttrs } from "../../ir/attributes.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { COMPLEX_ORACLE, countOf, split } from "../families/complex.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

function parts(g: OpBuilder, [z]: readonly [Value]): Value {
  const [re, im] = split(g, z);
  return g.add([g.square([re]), g.square([im])]);
}

export const complex_norm_sq: Op<"complex_norm_sq", NoAttrs, 1> = defineOp({
  name: "complex_norm_sq",
  summary: "re² + im² of complex numbers that are laid out as for complex_mul: half as many numbers.",
  arity: 1,
  operands: ["z"],
  outputs: "one",
  attributes: {},
  infer: ([z]) => {
    const count = countOf("complex_norm_sq", z);
    return tensor(plainDType(z.dtype, "complex_norm_sq"), [...z.shape.slice(0, -1), count]);
  },
  reference: ([z]) => {
    const count = at(z.shape, z.shape.length - 1) / 2;
    const made = new Float64Array(z.data.length / 2).map((_, i) => {
      const re = Math.floor(i / count) * 2 * count + (i % count);
      return at(z.data, re) ** 2 + at(z.data, re + count) ** 2;
    });
    return hostTensor(z.dtype, [...z.shape.slice(0, -1), count], made);
  },
  oracle: { numpy: lines(COMPLEX_ORACLE, "np.real(z(x0) * np.conj(z(x0)))") },
  ...byParts(parts),
  traits: ["pure"],
  samples: withDoubles([
    sample("odd count", [normal(1, [3, 10])], {}),
    sample("symbolic rows", [normal(2, ["T", 2, 4])], {}, { bindings: { T: 3 } }),
    sample("one number", [values([3, -2])], {}),
    sample("nothing", [values([], [0, 4])], {}),
  ]),
});
