import type { NoAttrs } from "../../ir/attributes.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import {
  asOne,
  eachMatrix,
  inverseTransposed,
  matrixBackends,
  matrixBatching,
  squareType,
} from "../families/factor/matrices.ts";
import { detOf } from "../families/factor/routines.ts";
import { SQUARE_SAMPLES } from "../families/factor/samples.ts";
import { lines } from "../families/oracle.ts";

export const det: Op<"det", NoAttrs, 1> = defineOp({
  name: "det",
  summary: "Determinants of square matrices: 0 of a singular one, NaN of one that is not finite.",
  arity: 1,
  operands: ["a"],
  outputs: "one",
  attributes: {},
  infer: ([a]) => {
    const { dtype, batch } = squareType("det", a);
    return tensor(dtype, batch);
  },
  reference: ([a], _attrs, types) => {
    const [made] = eachMatrix([a], types, ([matrix]) => (matrix ? detOf(matrix) : []));
    return made ?? a;
  },
  oracle: {
    numpy: lines(
      "fine = np.isfinite(x0).all((-2, -1))",
      "np.where(fine, np.linalg.det(np.where(fine[..., None, None], x0, 0)), np.nan)",
    ),
  },
  // det(a) a⁻ᵀ: NaN at a singular matrix, where there is no inverse.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [a], outputs: [y] }) => [y && g.mul([inverseTransposed(g, a), asOne(g, g.mul([ct, y]))])],
  },
  batching: matrixBatching("det"),
  traits: ["pure", "sensitive"],
  backends: matrixBackends("det"),
  samples: SQUARE_SAMPLES,
});
