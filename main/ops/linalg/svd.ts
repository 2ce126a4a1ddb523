import type { NoAttrs } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import {
  asColumn,
  asRow,
  diagonalOf,
  eachMatrix,
  inverseGaps,
  matrixBackends,
  matrixBatching,
  matrixType,
  shorterSide,
  timesTransposed,
  transposedTimes,
} from "../families/factor/matrices.ts";
import { svdOf } from "../families/factor/routines.ts";
import { HOPELESS } from "../families/factor/samples.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { swapLast } from "./matmul.ts";

/** f ∘ (xᵀ ct - ctᵀ x): how the columns of x turn towards one another. */
function turning(g: OpBuilder, f: Value, x: Value, ct: Value): Value {
  const both = transposedTimes(g, x, ct);
  return g.mul([f, g.sub([both, swapLast(g, both)])]);
}

/** (1 - x xᵀ) ct: what is outside of the columns of x. */
const outside = (g: OpBuilder, x: Value, ct: Value): Value => g.sub([ct, g.matmul([x, transposedTimes(g, x, ct)])]);

export const svd: Op<"svd", NoAttrs, 1, "many"> = defineOp({
  name: "svd",
  summary:
    "a = u diag(s) vt of matrices [.., M, N]: u [.., M, K] and vt [.., K, N] orthonormal, s [.., K] from the largest down, K the smaller of M and N. The number of largest size in each column of u is positive; NaN where a matrix is not finite.",
  arity: 1,
  operands: ["a"],
  outputs: "many",
  results: ["u", "s", "vt"],
  attributes: {},
  infer: ([a]) => {
    const { dtype, batch, rows, columns } = matrixType("svd", a);
    const least = shorterSide("svd", { dtype, batch, rows, columns });
    return [[rows, least], [least], [least, columns]].map((sizes) => tensor(dtype, [...batch, ...sizes]));
  },
  reference: ([a], _attrs, types) => eachMatrix([a], types, ([matrix]) => (matrix ? svdOf(matrix) : [])),
  oracle: {
    numpy: lines(
      "fine = np.isfinite(x0).all((-2, -1))[..., None, None]",
      "u, s, vt = np.linalg.svd(np.where(fine, x0, np.arange(x0[0].size if x0.ndim > 2 else x0.size).reshape(x0.shape[-2:])), full_matrices=False)",
      "top = np.take_along_axis(u, np.argmax(np.abs(u), -2)[..., None, :], -2) if s.size else 1.0",
      "sign = np.where(top < 0, -1.0, 1.0)",
      "(np.where(fine, u * sign, np.nan), np.where(fine[..., 0], s, np.nan), np.where(fine, vt * np.swapaxes(sign, -1, -2) if s.size else vt, np.nan))",
    ),
  },
  // Townsend (2016). Equal singular values, or zeros, have vectors that jump: their cotangents give infinities.
  gradient: {
    kind: "vjp",
    rule: ({ g, outputs: [u, s, vt], cotangents: [ctU, ctS, ctVt] }) => {
      if (u === undefined || s === undefined || vt === undefined) return [undefined];
      const [v, ctV] = [swapLast(g, vt), ctVt && swapLast(g, ctVt)];
      const gaps = (): Value => inverseGaps(g, g.mul([s, s]));
      const inner = [
        ...(ctS ? [diagonalOf(g, ctS)] : []),
        ...(ctU ? [g.mul([turning(g, gaps(), u, ctU), asRow(g, s)])] : []),
        ...(ctV ? [g.mul([asColumn(g, s), turning(g, gaps(), v, ctV)])] : []),
      ];
      const left = ctU && g.matmul([g.div([outside(g, u, ctU), asRow(g, s)]), vt]);
      const right = ctV && timesTransposed(g, u, g.div([outside(g, v, ctV), asRow(g, s)]));
      const within = inner.map((x) => g.matmul([g.matmul([u, x]), vt]));
      const all = [...within, left, right].filter((x) => x !== undefined);
      return [all.length === 0 ? undefined : all.reduce((a, b) => g.add([a, b]))];
    },
  },
  batching: matrixBatching("svd"),
  traits: ["pure", "sensitive"],
  backends: matrixBackends("svd"),
  samples: withDoubles([
    sample("tall, odd sizes", [normal(1, [5, 3])], {}),
    sample("a batch, wide", [normal(2, [2, 1, 3, 5])], {}),
    sample("symbolic batch", [normal(4, ["T", 3, 2])], {}, { bindings: { T: 2 } }),
    sample("symbolic size", [normal(5, ["T", "T"])], {}, { bindings: { T: 3 } }),
    sample("one row", [normal(6, [1, 3])], {}),
    sample("not finite", [HOPELESS], {}, { differentiable: false }),
    sample("no columns", [values([], [3, 0])], {}),
  ]),
});
