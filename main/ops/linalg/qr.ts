import type { NoAttrs } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import { tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import {
  eachMatrix,
  matrixBackends,
  matrixBatching,
  matrixType,
  shorterSide,
  timesTransposed,
  transposedTimes,
} from "../families/factor/matrices.ts";
import { filledLike } from "../families/constants.ts";
import { qrOf } from "../families/factor/routines.ts";
import { HOPELESS } from "../families/factor/samples.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { swapLast } from "./matmul.ts";

/**
 * Of a matrix with as many columns as r has rows: (ctQ + Q copy(r ctRᵀ - ctQᵀ Q)) r⁻ᵀ, where copy mirrors the lower
 * triangle (Walter and Lehmann, 2010).
 */
function backOf(g: OpBuilder, q: Value, r: Value, ctQ: Value, ctR: Value): Value {
  const m = g.sub([timesTransposed(g, r, ctR), transposedTimes(g, ctQ, q)]);
  const below = g.trilu([m], { upper: false, k: -1 });
  const copy = g.add([g.trilu([m], { upper: false, k: 0 }), swapLast(g, below)]);
  const whole = g.add([ctQ, g.matmul([q, copy])]);
  const solved = g.triangular_solve([r, swapLast(g, whole)], { upper: true, transposed: false, unit: false });
  return swapLast(g, solved);
}

export const qr: Op<"qr", NoAttrs, 1, "many"> = defineOp({
  name: "qr",
  summary:
    "a = q r of matrices [.., M, N]: q [.., M, K] with orthonormal columns, r [.., K, N] an upper triangle whose diagonal is not negative, K the smaller of M and N; NaN where a matrix is not finite.",
  arity: 1,
  operands: ["a"],
  outputs: "many",
  results: ["q", "r"],
  attributes: {},
  infer: ([a]) => {
    const type = matrixType("qr", a);
    const least = shorterSide("qr", type);
    return [
      tensor(type.dtype, [...type.batch, type.rows, least]),
      tensor(type.dtype, [...type.batch, least, type.columns]),
    ];
  },
  reference: ([a], _attrs, types) => eachMatrix([a], types, ([matrix]) => (matrix ? qrOf(matrix) : [])),
  oracle: {
    numpy: lines(
      "fine = np.isfinite(x0).all((-2, -1))[..., None, None]",
      "q, r = np.linalg.qr(np.where(fine, x0, np.ones(x0.shape)))",
      "sign = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)",
      "(np.where(fine, q * sign[..., None, :], np.nan), np.where(fine, r * sign[..., None], np.nan))",
    ),
  },
  // A wide a is [x | y] with x square: a = q [u | v] and v = qᵀ y.
  gradient: {
    kind: "vjp",
    rule: ({ g, inputs: [a], outputs: [q, r], cotangents: [givenQ, givenR] }) => {
      if (q === undefined || r === undefined) return [undefined];
      const [ctQ, ctR] = [givenQ ?? filledLike(g, q, 0), givenR ?? filledLike(g, r, 0)];
      const { shape } = g.typeOf(a);
      const [rows = 1, columns = 1] = shape.slice(-2);
      if (rows === columns || (typeof rows === "number" && typeof columns === "number" && rows > columns))
        return [backOf(g, q, r, ctQ, ctR)];
      const axis = shape.length - 1;
      const [square, rest] = [rows, Number(columns) - Number(rows)];
      const first = (x: Value): Value => g.narrow([x], { axis, start: 0, length: square });
      const last = (x: Value): Value => g.narrow([x], { axis, start: square, length: rest });
      const fromV = timesTransposed(g, last(a), last(ctR));
      const x = backOf(g, q, first(r), g.add([ctQ, fromV]), first(ctR));
      return [g.concat([x, g.matmul([q, last(ctR)])], { axis })];
    },
  },
  batching: matrixBatching("qr"),
  traits: ["pure", "sensitive"],
  backends: matrixBackends("qr"),
  samples: withDoubles([
    sample("tall, odd sizes", [normal(1, [5, 3])], {}),
    sample("a batch of squares", [normal(2, [2, 1, 3, 3])], {}),
    sample("wide", [normal(3, [3, 5])], {}),
    sample("symbolic batch", [normal(4, ["T", 3, 2])], {}, { bindings: { T: 2 } }),
    sample("symbolic size", [normal(5, ["T", "T"])], {}, { bindings: { T: 3 } }),
    sample("not finite", [HOPELESS], {}, { differentiable: false }),
    sample("no columns", [values([], [3, 0])], {}),
  ]),
});
