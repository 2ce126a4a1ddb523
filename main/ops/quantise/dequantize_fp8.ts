import { WorkbenchError } from "../../diagnostics/errors.ts";
import { plainDType } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import type { Fp8Attrs } from "../families/fp8.ts";
import { checkScales, decodeParts, decoded, fp8Schema, scaleOf } from "../families/fp8.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, uniform, values, withDoubles } from "../families/samples.ts";

/** Once by one and once by what is no number. */
const EVERY_CODE = [
  values(
    Array.from({ length: 512 }, (_, i) => i % 256),
    [2, 256],
    "u8",
  ),
  values([1, NaN], [2, 1]),
];

export const dequantize_fp8: Op<"dequantize_fp8", Fp8Attrs, 2> = defineOp({
  name: "dequantize_fp8",
  summary:
    "What codes of floats of eight bits, u8, stand for, times the scale of their block: e4m3 has no infinities, e5m2 has. One scale for each block of the last axis, or for each row.",
  arity: 2,
  operands: ["codes", "scale"],
  outputs: "one",
  attributes: fp8Schema,
  infer: ([codes, scale], attrs) => {
    if (codes.dtype !== "u8")
      throw new WorkbenchError("IR_TYPE", `[dequantize_fp8] codes: got ${formatType(codes)}, expected u8`);
    checkScales("dequantize_fp8", codes, scale, attrs);
    return tensor(plainDType(scale.dtype, "dequantize_fp8"), codes.shape);
  },
  reference: ([codes, scale], attrs) => {
    const own = scaleOf(codes, scale, attrs);
    return hostTensor(
      scale.dtype,
      codes.shape,
      codes.data.map((code, i) => decoded(code, attrs.format) * own(i)),
    );
  },
  oracle: {
    numpy: lines(
      "import ml_dtypes",
      "kind = {'e4m3': ml_dtypes.float8_e4m3fn, 'e5m2': ml_dtypes.float8_e5m2}[a['format']]",
      "table = np.arange(256, dtype='u1').view(kind).astype('f8')",
      "wide = np.repeat(x1, a['block'], -1)[..., : x0.shape[-1]] if a.get('block') else x1",
      "np.asarray(table)[x0] * wide",
    ),
  },
  ...byParts<Fp8Attrs, 2>((g, [codes, scale], attrs) => decodeParts(g, codes, scale, attrs)),
  traits: ["pure"],
  samples: withDoubles([
    sample("blocks, the last one shorter", [integers(1, [3, 7], 0, 126, "u8"), uniform(2, [3, 3], 0.05, 0.2)], {
      format: "e4m3",
      block: 3,
    }),
    sample(
      "a scale for each row, symbolic",
      [integers(3, ["T", 5], 0, 90, "u8"), normal(4, ["T", 1])],
      { format: "e5m2" },
      {
        bindings: { T: 3 },
      },
    ),
    sample("every code", EVERY_CODE, { format: "e4m3" }, { differentiable: false }),
    sample("every code of the other format", EVERY_CODE, { format: "e5m2" }, { differentiable: false }),
    sample("nothing", [values([], [2, 0], "u8"), values([], [2, 0])], { format: "e4m3", block: 4 }),
  ]),
});
