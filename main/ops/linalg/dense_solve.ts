import type { NoAttrs } from "../../ir/attributes.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import {
  eachMatrix,
  inferSolve,
  matrixBackends,
  matrixBatching,
  scaled,
  timesTransposed,
} from "../families/factor/matrices.ts";
import { denseSolve } from "../families/factor/routines.ts";
import { HOPELESS, strong } from "../families/factor/samples.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import { swapLast } from "./matmul.ts";

export const dense_solve: Op<"dense_solve", NoAttrs, 2> = defineOp({
  name: "dense_solve",
  summary:
    "The x with a x = b for square matrices, by elimination with pivots; NaN where a matrix is singular or not finite, and in columns of b that are not finite.",
  arity: 2,
  operands: ["a", "b"],
  outputs: "one",
  attributes: {},
  infer: (inputs) => inferSolve("dense_solve", inputs),
  reference: (inputs, _attrs, types) => {
    const [made] = eachMatrix(inputs, types, ([a, b]) => (a && b ? denseSolve(a, b) : []));
    return made ?? inputs[1];
  },
  oracle: {
    numpy: lines(
      "clean = np.where(np.isfinite(x0), x0, 0)",
      "fine = (np.isfinite(x0).all((-2, -1)) & (np.linalg.det(clean) != 0))[..., None, None]",
      "y = np.linalg.solve(np.where(fine, clean, np.eye(x0.shape[-1])), np.where(np.isfinite(x1), x1, 0))",
      "np.where(fine & np.isfinite(x1).all(-2, keepdims=True), y, np.nan)",
    ),
  },
  // g = a⁻ᵀ ct is b's; a's is -g xᵀ.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [a], outputs: [x] }) => {
      const back = g.dense_solve([swapLast(g, a), ct]);
      return [x && scaled(g, timesTransposed(g, back, x), -1), back];
    },
  },
  batching: matrixBatching("dense_solve"),
  traits: ["pure", "sensitive"],
  backends: matrixBackends("dense_solve"),
  samples: withDoubles([
    sample("odd sizes", [normal(1, [3, 3]), normal(2, [3, 5])], {}),
    sample("a batch", [strong(3, [2, 1, 5, 5]), normal(4, [2, 1, 5, 1])], {}),
    sample("symbolic", [strong(5, ["T", "T"]), normal(6, ["T", 2])], {}, { bindings: { T: 3 } }),
    sample(
      "no answer",
      [HOPELESS, values([1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 1, Infinity, 2, 3], [4, 2, 2])],
      {},
      { differentiable: false },
    ),
    sample("no matrices", [values([], [0, 2, 2]), values([], [0, 2, 1])], {}),
    sample("nothing on the right", [normal(7, [3, 3]), values([], [3, 0])], {}),
  ]),
});
