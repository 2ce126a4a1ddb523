import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { at } from "../families/host.ts";
import { byParts } from "../families/parts.ts";
import { whole } from "../families/positions.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface TriluAttrs {
  readonly upper: boolean;
  /** The diagonal that is kept, too: 0 the main one, above it from 1. */
  readonly k: number;
}

function parts(g: OpBuilder, [x]: readonly [Value], { upper, k }: TriluAttrs): Value {
  const shape = g.typeOf(x).shape.slice(-2);
  const diagonal = g.sub([g.iota([], { shape, axis: 1 }), g.iota([], { shape, axis: 0 })]);
  const kept = g.compare([diagonal, whole(g, k)], { op: upper ? "ge" : "le" });
  return g.where([kept, x, scalarLike(g, x, 0)]);
}

export const trilu: Op<"trilu", TriluAttrs, 1> = defineOp({
  name: "trilu",
  summary: "The upper or the lower triangle of matrices, zeros elsewhere.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { upper: attr.bool(), k: attr.int() },
  infer: ([x]) => {
    if (x.shape.length < 2)
      throw new WorkbenchError("IR_SHAPE", `[trilu] operand: got ${formatType(x)}, expected two axes at least`);
    return tensor(plainDType(x.dtype, "trilu"), x.shape);
  },
  reference: ([x], { upper, k }) => {
    const [rows, columns] = [at(x.shape, x.shape.length - 2), at(x.shape, x.shape.length - 1)];
    const out = x.data.map((value, i) => {
      const diagonal = (i % columns) - (Math.floor(i / columns) % rows);
      return (upper ? diagonal >= k : diagonal <= k) ? value : 0;
    });
    return hostTensor(x.dtype, x.shape, out);
  },
  oracle: { numpy: '(np.triu if a["upper"] else np.tril)(x0, a["k"])' },
  ...byParts(parts),
  traits: ["pure", "movement"],
  samples: withDoubles([
    sample("lower, odd sizes", [normal(1, [3, 5])], { upper: false, k: 0 }),
    sample("upper, above the diagonal, batch", [integers(2, [2, 4, 3], -9, 9)], { upper: true, k: 1 }),
    sample("symbolic", [normal(3, ["T", "T"])], { upper: false, k: -1 }, { bindings: { T: 3 } }),
    sample(
      "infinities are left out",
      [values([1, Infinity, NaN, 2], [2, 2])],
      { upper: true, k: 0 },
      {
        differentiable: false,
      },
    ),
    sample("no rows", [values([], [0, 3])], { upper: true, k: 0 }),
  ]),
});
