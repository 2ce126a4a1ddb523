import { milDequantize } from "../../backends/coreml/quantRules.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { InputsOf, Op, Range } from "../defineOp.ts";
import { defineOp, everywhere } from "../defineOp.ts";
import type { AffineAttrs } from "../families/affine.ts";
import { OWN_SCALES, OWN_ZERO, affineSchema, along, checkAffine, placeOf } from "../families/affine.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

type Arity = Range<2, 3>;

function parts(g: OpBuilder, [codes, scale, zero]: InputsOf<Arity, Value>, { axis }: AffineAttrs): Value {
  const to = plainDType(g.typeOf(scale).dtype, "dequantize_affine");
  const rank = g.typeOf(codes).shape.length;
  const real = g.cast([codes], { to });
  const centre = zero === undefined ? real : g.sub([real, along(g, g.cast([zero], { to }), rank, axis)]);
  return g.mul([centre, along(g, scale, rank, axis)]);
}

export const dequantize_affine: Op<"dequantize_affine", AffineAttrs, Arity> = defineOp({
  name: "dequantize_affine",
  summary:
    "What codes of eight bits stand for: (code − zero) · scale; the other way of quantize. Packed weights have dequantize.",
  arity: { least: 2, most: 3 },
  operands: ["codes", "scale", "zero"],
  outputs: "one",
  attributes: affineSchema,
  infer: ([codes, scale, zero], attrs) => {
    if (codes.dtype !== "i8")
      throw new WorkbenchError("IR_TYPE", `[dequantize_affine] codes: got ${formatType(codes)}, expected i8`);
    checkAffine("dequantize_affine", codes, [scale, zero], attrs);
    return tensor(plainDType(scale.dtype, "dequantize_affine"), codes.shape);
  },
  reference: ([codes, scale, zero], { axis }) => {
    const place = placeOf(codes, axis);
    const made = codes.data.map(
      (code, i) => (code - (zero === undefined ? 0 : at(zero.data, place(i)))) * at(scale.data, place(i)),
    );
    return hostTensor(scale.dtype, codes.shape, made);
  },
  oracle: {
    numpy: lines(OWN_SCALES, OWN_ZERO, "(x0.astype('f8') - zero) * own(x1)"),
  },
  ...byParts(parts),
  backends: { ...everywhere(parts), coreml: milDequantize },
  traits: ["pure"],
  samples: withDoubles([
    sample(
      "one scale, odd sizes",
      [integers(1, [3, 5], -128, 127, "i8"), values([0.03], []), values([-7], [], "i8")],
      {},
    ),
    sample(
      "a scale for each row, symbolic columns",
      [integers(2, [3, "T"], -128, 127, "i8"), uniform(3, [3], 0.01, 0.03), integers(4, [3], -128, 127, "i8")],
      { axis: 0 },
      { bindings: { T: 5 } },
    ),
    sample(
      "a scale for each channel, no zeros",
      [integers(5, [2, 3, 2, 2], -128, 127, "i8"), uniform(6, [3], 0.01, 0.03)],
      { axis: -3 },
    ),
    sample("nothing", [values([], [0, 3], "i8"), values([1], []), values([1], [], "i8")], {}),
  ]),
});
