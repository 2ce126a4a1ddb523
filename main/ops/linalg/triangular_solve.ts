import { attr } from "../../ir/attributes.ts";
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
import type { Triangle } from "../families/factor/routines.ts";
import { triangularSolve } from "../families/factor/routines.ts";
import { HOPELESS, strong } from "../families/factor/samples.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";

const LOWER = { upper: false, transposed: false, unit: false } as const;

export const triangular_solve: Op<"triangular_solve", Triangle, 2> = defineOp({
  name: "triangular_solve",
  summary:
    "The x with t x = b for the upper or lower triangle t of a, or its transpose; with `unit`, t has ones on its diagonal. NaN where the triangle is singular or not finite, and in columns of b that are not finite.",
  arity: 2,
  operands: ["a", "b"],
  outputs: "one",
  attributes: { upper: attr.bool(), transposed: attr.bool(), unit: attr.bool() },
  infer: (inputs) => inferSolve("triangular_solve", inputs),
  reference: (inputs, attrs, types) => {
    const [made] = eachMatrix(inputs, types, ([a, b]) => (a && b ? triangularSolve(a, b, attrs) : []));
    return made ?? inputs[1];
  },
  oracle: {
    jax: lines(
      "n = x0.shape[-1]",
      'used = jnp.tri(n, n, -1 if a["unit"] else 0, dtype=bool)',
      'used = used.T if a["upper"] else used',
      "read = jnp.where(used, x0, jnp.eye(n))",
      "fine = (jnp.isfinite(read) & ((read != 0) | ~jnp.eye(n, dtype=bool))).all((-2, -1))[..., None, None]",
      "b = jnp.where(jnp.isfinite(x1), x1, 0)",
      'y = jax.lax.linalg.triangular_solve(jnp.where(fine, x0, jnp.eye(n)), b, left_side=True, lower=not a["upper"], transpose_a=a["transposed"], unit_diagonal=a["unit"])',
      "jnp.where(fine & jnp.isfinite(x1).all(-2, keepdims=True), y, jnp.nan)",
    ),
  },
  // As for any system, but only the triangle that is read has a gradient.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [a], outputs: [x], attrs }) => {
      const { upper, transposed, unit } = attrs;
      const back = g.triangular_solve([a, ct], { ...attrs, transposed: !transposed });
      if (x === undefined) return [undefined, back];
      const whole = transposed ? timesTransposed(g, x, back) : timesTransposed(g, back, x);
      return [scaled(g, g.trilu([whole], { upper, k: unit ? (upper ? 1 : -1) : 0 }), -1), back];
    },
  },
  batching: matrixBatching("triangular_solve"),
  traits: ["pure", "sensitive"],
  backends: matrixBackends("triangular_solve", ({ upper, transposed, unit }) => ({ upper, transposed, unit })),
  samples: withDoubles([
    sample("lower, odd sizes", [strong(1, [3, 3]), normal(2, [3, 5])], LOWER),
    sample("upper, transposed, a batch", [strong(3, [2, 5, 5]), normal(4, [2, 5, 1])], {
      ...{ upper: true, transposed: true, unit: false },
    }),
    sample("upper, ones on the diagonal", [strong(5, [3, 3]), normal(6, [3, 2])], {
      ...{ upper: true, transposed: false, unit: true },
    }),
    sample("lower, transposed, ones on the diagonal", [strong(7, [3, 3]), normal(8, [3, 2])], {
      ...{ upper: false, transposed: true, unit: true },
    }),
    sample("symbolic", [strong(9, ["T", "T"]), normal(10, ["T", 2])], LOWER, { bindings: { T: 3 } }),
    sample(
      "no answer",
      [HOPELESS, values([1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, NaN, 1, 2, 3], [4, 2, 2])],
      { upper: true, transposed: false, unit: false },
      { differentiable: false },
    ),
    sample("a zero on the diagonal", [values([1, 0, NaN, 0], [2, 2]), values([1, 2], [2, 1])], LOWER, {
      differentiable: false,
    }),
    sample("no matrices", [values([], [0, 2, 2]), values([], [0, 2, 1])], LOWER),
  ]),
});
