import type { NoAttrs } from "../../ir/attributes.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import {
  eachMatrix,
  halfLower,
  matrixBackends,
  matrixBatching,
  squareType,
  toLower,
  transposedTimes,
} from "../families/factor/matrices.ts";
import { choleskyOf } from "../families/factor/routines.ts";
import { HOPELESS, strong } from "../families/factor/samples.ts";
import { lines } from "../families/oracle.ts";
import { sample, values, withDoubles } from "../families/samples.ts";
import { swapLast } from "./matmul.ts";

export const cholesky: Op<"cholesky", NoAttrs, 1> = defineOp({
  name: "cholesky",
  summary:
    "The lower triangle l with l lᵀ = a for symmetric positive matrices, of which only the lower triangle is read; NaN in the triangle where a matrix is not positive or not finite.",
  arity: 1,
  operands: ["a"],
  outputs: "one",
  attributes: {},
  infer: ([a]) => tensor(squareType("cholesky", a).dtype, a.shape),
  reference: ([a], _attrs, types) => {
    const [made] = eachMatrix([a], types, ([matrix]) => (matrix ? choleskyOf(matrix) : []));
    return made ?? a;
  },
  oracle: {
    jax: lines(
      "lower = jnp.tril(x0)",
      "fine = jnp.isfinite(lower).all((-2, -1))[..., None, None]",
      "lower = jnp.where(fine, lower, jnp.eye(x0.shape[-1]))",
      "whole = lower + jnp.swapaxes(jnp.tril(lower, -1), -1, -2)",
      "jnp.where(fine, jnp.linalg.cholesky(whole, symmetrize_input=False), jnp.tril(jnp.full(x0.shape, jnp.nan)))",
    ),
  },
  // Murray (2016): l⁻ᵀ Φ(lᵀ ct) l⁻¹, Φ the lower triangle with half of the diagonal.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, outputs: [l] }) => {
      if (l === undefined) return [undefined];
      const back = { upper: false, transposed: true, unit: false };
      const left = g.triangular_solve([l, halfLower(g, transposedTimes(g, l, ct))], back);
      return [toLower(g, swapLast(g, g.triangular_solve([l, swapLast(g, left)], back)))];
    },
  },
  batching: matrixBatching("cholesky"),
  traits: ["pure", "sensitive"],
  backends: matrixBackends("cholesky"),
  samples: withDoubles([
    sample("odd size", [strong(1, [5, 5])], {}),
    sample("a batch", [strong(2, [2, 1, 3, 3])], {}),
    sample("symbolic", [strong(3, ["T", "T"])], {}, { bindings: { T: 3 } }),
    sample("one number", [values([4], [1, 1])], {}),
    sample("not positive, not finite", [HOPELESS], {}, { differentiable: false }),
    sample("no rows", [values([], [2, 0, 0])], {}),
  ]),
});
