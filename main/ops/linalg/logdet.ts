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
import { logdetOf } from "../families/factor/routines.ts";
import { SQUARE_SAMPLES } from "../families/factor/samples.ts";
import { lines } from "../families/oracle.ts";

export const logdet: Op<"logdet", NoAttrs, 1, "many"> = defineOp({
  name: "logdet",
  summary:
    "Sign and log |det| of square matrices, as NumPy's slogdet: 0 and -∞ of a singular one, NaN of one that is not finite.",
  arity: 1,
  operands: ["a"],
  outputs: "many",
  results: ["sign", "log of the size"],
  attributes: {},
  infer: ([a]) => {
    const { dtype, batch } = squareType("logdet", a);
    return [tensor(dtype, batch), tensor(dtype, batch)];
  },
  reference: ([a], _attrs, types) => eachMatrix([a], types, ([matrix]) => (matrix ? logdetOf(matrix) : [])),
  oracle: {
    numpy: lines(
      "fine = np.isfinite(x0).all((-2, -1))",
      "sign, size = np.linalg.slogdet(np.where(fine[..., None, None], x0, 0))",
      "(np.where(fine, sign, np.nan), np.where(fine, size, np.nan))",
    ),
  },
  // a⁻ᵀ; the sign is flat.
  gradient: {
    kind: "vjp",
    rule: ({ g, inputs: [a], cotangents: [, ct] }) => [ct && g.mul([inverseTransposed(g, a), asOne(g, ct)])],
  },
  batching: matrixBatching("logdet"),
  traits: ["pure", "sensitive"],
  backends: matrixBackends("logdet"),
  samples: SQUARE_SAMPLES,
});
