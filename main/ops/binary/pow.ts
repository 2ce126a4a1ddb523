import { milPowerWhole } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import type { DType } from "../../ir/dtype.ts";
import { isFloat } from "../../ir/dtype.ts";
import { realPower } from "../../ir/realPower.ts";
import { powerWhole } from "../../ir/wholeNumbers.ts";
import { scalarLike } from "../families/constants.ts";
import { sample, values } from "../families/samples.ts";
import type { Sample } from "../defineOp.ts";
import type { Binary } from "../families/binary.ts";
import { binaryOp, cpuBinary, milBinary, positiveBinarySamples } from "../families/binary.ts";

const POWERS: readonly (readonly [dtype: DType, a: readonly number[], b: readonly number[]])[] = [
  ["i8", [2, -3, -1, 0, 7], [7, 3, 5, 0, 20]],
  ["u8", [2, 3, 255], [8, 5, 2]],
  ["i16", [-7, 2, 10], [5, 15, 100]],
  ["u32", [3, 2, 65537], [21, 32, 2]],
  ["i32", [3, -2, 46341], [40, 31, 2]],
  ["i64", [3, -2, 10], [30, 63, 15]],
];

export const pow: Binary<"pow"> = binaryOp("pow", {
  summary:
    "First tensor to the power of the second, element by element, with broadcasting; whole numbers are cut off towards zero.",
  operands: ["base", "exponent"],
  reference: (a, b, dtype) => (isFloat(dtype) ? realPower(a, b) : powerWhole(a, b, dtype)),
  oracle: {
    numpy:
      "x0 ** x1 if x0.dtype.kind == 'f' else np.where(x1 < 0, np.trunc(x0.astype(float) ** x1).astype(x0.dtype), x0 ** np.maximum(x1, 0))",
  },
  // d(a^b) = b a^(b-1) da + a^b ln(a) db; the second term is 0 at a = 0, and the first at b = 0: there a^0 is 1 whatever a is, and
  // of a that is 0 or NaN the product would be no number.
  gradient: ({ g, ct, inputs: [a, b], outputs: [y = a] }) => {
    const [zero, one] = [scalarLike(g, a, 0), scalarLike(g, a, 1)];
    const isNumber = g.compare([g.abs([a]), zero], { op: "gt" });
    const isOne = g.logical_and([g.compare([b, zero], { op: "eq" }), g.logical_not([isNumber])]);
    const da = g.mul([ct, g.mul([b, g.pow([g.where([isOne, one, a]), g.sub([b, one])])])]);
    const ln = g.log([g.where([g.compare([a, zero], { op: "eq" }), one, a])]);
    return [da, g.mul([ct, g.mul([y, ln])])];
  },
  traits: ["sensitive"],
  backends: { cpu: cpuBinary("pow"), coreml: milBinary("pow", milPowerWhole), mlx: mlxCall("power") },
  samples: [
    ...positiveBinarySamples,
    sample(
      "ones, infinities and NaN",
      [
        values([1, 1, 1, -1, -1, 1, NaN, 2, 0.5, 0, -2], [11]),
        values([NaN, Infinity, -Infinity, Infinity, -Infinity, 0, 0, Infinity, Infinity, -1, 0.5], [11]),
      ],
      {},
      { differentiable: false },
    ),
    sample(
      "whole numbers, exponents of both signs",
      [values([1, -1, -1, 2, -3, 7, -2, 0, 5], [9], "i32"), values([-3, -2, -3, -1, -2, 11, 31, 0, 0], [9], "i32")],
      {},
    ),
    sample("whole numbers, one base for all", [values([3], [], "i32"), values([0, 1, 5, -1], [2, 2], "i32")], {}),
    ...POWERS.map(([dtype, a, b]): Sample<NoAttrs> =>
      sample(`powers that wrap, ${dtype}`, [values(a, [a.length], dtype), values(b, [b.length], dtype)], {}),
    ),
  ],
});
