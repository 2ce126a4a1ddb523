import type { NoAttrs } from "../../ir/attributes.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { COMPLEX_ORACLE, countOf, join, split } from "../families/complex.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

function parts(g: OpBuilder, [z]: readonly [Value]): Value {
  const [re, im] = split(g, z);
  return join(g, [re, g.neg([im])]);
}

export const conjugate: Op<"conjugate", NoAttrs, 1> = defineOp({
  name: "conjugate",
  summary: "Complex numbers, laid out as for complex_mul, with the other sign of their imaginary parts.",
  arity: 1,
  operands: ["z"],
  outputs: "one",
  attributes: {},
  infer: ([z]) => {
    countOf("conjugate", z);
    return tensor(plainDType(z.dtype, "conjugate"), z.shape);
  },
  reference: ([z]) => {
    const width = z.shape.at(-1) ?? 2;
    return hostTensor(
      z.dtype,
      z.shape,
      z.data.map((value, i) => (i % width < width / 2 ? value : -value)),
    );
  },
  oracle: { numpy: lines(COMPLEX_ORACLE, "block(np.conj(z(x0)))") },
  ...byParts(parts),
  traits: ["pure"],
  samples: withDoubles([
    sample("odd count", [normal(1, [3, 10])], {}),
    sample("symbolic rows", [normal(2, ["T", 2, 4])], {}, { bindings: { T: 3 } }),
    sample("one number", [values([3, -2])], {}),
    sample("nothing", [values([], [0, 4])], {}),
  ]),
});
