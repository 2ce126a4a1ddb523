import { milQuantize } from "../../backends/coreml/quantRules.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { InputsOf, Op, Range } from "../defineOp.ts";
import { defineOp, everywhere } from "../defineOp.ts";
import type { AffineAttrs } from "../families/affine.ts";
import {
  NO_SLOPE,
  OWN_SCALES,
  OWN_ZERO,
  affineSchema,
  along,
  checkAffine,
  codeOf,
  codeParts,
  placeOf,
} from "../families/affine.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

type Arity = Range<2, 3>;

function parts(g: OpBuilder, [x, scale, zero]: InputsOf<Arity, Value>, { axis }: AffineAttrs): Value {
  const { shape, dtype } = g.typeOf(x);
  const own = (value: Value): Value => along(g, value, shape.length, axis);
  const zeros = zero && own(g.cast([zero], { to: dtypeAmong("floats", dtype, "quantize") }));
  return codeParts(g, g.div([x, own(scale)]), zeros);
}

export const quantize: Op<"quantize", AffineAttrs, Arity> = defineOp({
  name: "quantize",
  summary:
    "Codes of eight bits: round(x / scale) + zero, ties to even, held within −128..127; one scale and zero, or one for each index of an axis. NaN becomes 0.",
  arity: { least: 2, most: 3 },
  operands: ["x", "scale", "zero"],
  outputs: "one",
  attributes: affineSchema,
  infer: ([x, scale, zero], attrs) => {
    dtypeAmong("floats", x.dtype, "quantize");
    checkAffine("quantize", x, [scale, zero], attrs);
    if (scale.dtype !== x.dtype)
      throw new WorkbenchError("IR_TYPE", `[quantize] scale: got ${formatType(scale)}, expected ${x.dtype}`, {
        hint: "Insert a cast.",
      });
    return tensor("i8", x.shape);
  },
  reference: ([x, scale, zero], { axis }) => {
    const place = placeOf(x, axis);
    const codes = x.data.map((value, i) =>
      codeOf(value / at(scale.data, place(i)), zero === undefined ? 0 : at(zero.data, place(i))),
    );
    return hostTensor("i8", x.shape, codes);
  },
  oracle: {
    numpy: lines(
      OWN_SCALES,
      OWN_ZERO,
      "np.nan_to_num(np.clip(np.rint(x0 / own(x1)) + zero, -128, 127)).astype(np.int8)",
    ),
  },
  ...byParts(parts),
  backends: { ...everywhere(parts), coreml: milQuantize },
  gradient: NO_SLOPE,
  traits: ["pure"],
  samples: withDoubles([
    sample("one scale, odd sizes", [normal(1, [3, 5], 2), values([0.03], []), values([-7], [], "i8")], {}),
    sample(
      "a scale for each row, symbolic columns",
      [normal(2, [3, "T"]), uniform(3, [3], 0.01, 0.03), integers(4, [3], -9, 9, "i8")],
      { axis: 0 },
      { bindings: { T: 5 } },
    ),
    sample("a scale for each channel, no zeros", [normal(5, [2, 3, 2, 2]), uniform(6, [3], 0.01, 0.03)], { axis: -3 }),
    sample(
      "ties, edges, NaN and infinities",
      [values([0.5, 1.5, -0.5, 300, -300, NaN, Infinity, -Infinity]), values([1], [])],
      {},
    ),
    sample("nothing", [values([], [0, 3]), values([1], []), values([1], [], "i8")], {}),
  ]),
});
