import type { NoAttrs } from "../../ir/attributes.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import {
  diagonalOf,
  eachMatrix,
  inverseGaps,
  matrixBackends,
  matrixBatching,
  squareType,
  timesTransposed,
  toLower,
  transposedTimes,
} from "../families/factor/matrices.ts";
import { eighOf } from "../families/factor/routines.ts";
import { HOPELESS } from "../families/factor/samples.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";

export const eigh: Op<"eigh", NoAttrs, 1, "many"> = defineOp({
  name: "eigh",
  summary:
    "Eigenvalues [.., N] from the smallest up and eigenvectors, the columns of [.., N, N], of symmetric matrices, of which only the lower triangle is read. The number of largest size in each vector is positive; NaN where a matrix is not finite.",
  arity: 1,
  operands: ["a"],
  outputs: "many",
  results: ["values", "vectors"],
  attributes: {},
  infer: ([a]) => {
    const { dtype, batch, rows } = squareType("eigh", a);
    return [tensor(dtype, [...batch, rows]), tensor(dtype, a.shape)];
  },
  reference: ([a], _attrs, types) => eachMatrix([a], types, ([matrix]) => (matrix ? eighOf(matrix) : [])),
  oracle: {
    numpy: lines(
      "lower = np.tril(x0)",
      "fine = np.isfinite(lower).all((-2, -1))[..., None, None]",
      "lower = np.where(fine, lower, np.diag(np.arange(1.0, x0.shape[-1] + 1)))",
      "w, v = np.linalg.eigh(lower + np.swapaxes(np.tril(lower, -1), -1, -2))",
      "top = np.take_along_axis(v, np.argmax(np.abs(v), -2)[..., None, :], -2) if w.size else 1.0",
      "(np.where(fine[..., 0], w, np.nan), np.where(fine, v * np.where(top < 0, -1.0, 1.0), np.nan))",
    ),
  },
  // v (diag(ct of the values) + f ∘ (vᵀ ct of the vectors)) vᵀ, f = 1 / (w_j - w_i). Equal eigenvalues give infinities.
  gradient: {
    kind: "vjp",
    rule: ({ g, outputs: [w, v], cotangents: [ctW, ctV] }) => {
      if (w === undefined || v === undefined) return [undefined];
      const inner = [
        ...(ctW ? [diagonalOf(g, ctW)] : []),
        ...(ctV ? [g.mul([inverseGaps(g, w), transposedTimes(g, v, ctV)])] : []),
      ];
      if (inner.length === 0) return [undefined];
      const whole = inner.reduce((a, b) => g.add([a, b]));
      return [toLower(g, timesTransposed(g, g.matmul([v, whole]), v))];
    },
  },
  batching: matrixBatching("eigh"),
  traits: ["pure", "sensitive"],
  backends: matrixBackends("eigh"),
  samples: withDoubles([
    sample("odd size", [normal(1, [5, 5])], {}),
    sample("a batch", [normal(2, [2, 1, 3, 3])], {}),
    sample("symbolic", [normal(3, ["T", "T"])], {}, { bindings: { T: 3 } }),
    sample("not finite", [HOPELESS], {}, { differentiable: false }),
    sample("no rows", [values([], [2, 0, 0])], {}),
  ]),
});
