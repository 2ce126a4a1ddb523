import { WorkbenchError } from "../../diagnostics/errors.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, nondifferentiable } from "../defineOp.ts";
import type { Fp8Attrs } from "../families/fp8.ts";
import { checkScales, encodeParts, encoded, fp8Schema, scaleOf } from "../families/fp8.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { normal, sample, uniform, values, withDoubles } from "../families/samples.ts";

export const quantize_fp8: Op<"quantize_fp8", Fp8Attrs, 2> = defineOp({
  name: "quantize_fp8",
  summary:
    "Codes of floats of eight bits, u8: x / scale rounded to the nearest, ties to even, and held within the largest numbers; e4m3 up to 448, e5m2 up to 57344. One scale for each block of the last axis, or for each row.",
  arity: 2,
  operands: ["x", "scale"],
  outputs: "one",
  results: ["codes"],
  attributes: fp8Schema,
  infer: ([x, scale], attrs) => {
    dtypeAmong("floats", x.dtype, "quantize_fp8");
    checkScales("quantize_fp8", x, scale, attrs);
    if (scale.dtype !== x.dtype)
      throw new WorkbenchError("IR_TYPE", `[quantize_fp8] scale: got ${formatType(scale)}, expected ${x.dtype}`, {
        hint: "Insert a cast.",
      });
    return tensor("u8", x.shape);
  },
  reference: ([x, scale], attrs) => {
    const own = scaleOf(x, scale, attrs);
    return hostTensor(
      "u8",
      x.shape,
      x.data.map((value, i) => encoded(value / own(i), attrs.format)),
    );
  },
  oracle: {
    numpy: lines(
      "import ml_dtypes",
      "kind = {'e4m3': ml_dtypes.float8_e4m3fn, 'e5m2': ml_dtypes.float8_e5m2}[a['format']]",
      "most = float(ml_dtypes.finfo(kind).max)",
      "wide = np.repeat(x1, a['block'], -1)[..., : x0.shape[-1]] if a.get('block') else x1",
      // Zero has no sign here, and what is no number has none either.
      "code = (np.clip(x0 / wide, -most, most) + 0.0).astype(kind).view(np.uint8)",
      "np.where(np.isnan(x0 / wide), {'e4m3': 0x7F, 'e5m2': 0x7E}[a['format']], code).astype(np.uint8)",
    ),
  },
  ...byParts<Fp8Attrs, 2>((g, [x, scale], attrs) => encodeParts(g, x, scale, attrs)),
  gradient: nondifferentiable(
    "the result is codes: training takes fake_quantize, whose gradient goes straight through",
  ),
  traits: ["pure"],
  samples: withDoubles([
    sample("blocks, the last one shorter", [normal(1, [3, 7], 20), uniform(2, [3, 3], 0.05, 0.2)], {
      format: "e4m3",
      block: 3,
    }),
    sample(
      "a scale for each row, symbolic",
      [normal(3, ["T", 5], 900), uniform(4, ["T", 1], 0.5, 2)],
      { format: "e5m2" },
      {
        bindings: { T: 3 },
      },
    ),
    sample(
      "powers, ties, the smallest and the largest, NaN and infinities",
      [
        values([
          ...[1, 2, 0.5, 1.0625, 1.1875, 0.001953125, 0.0009765625, 0.0029296875, 0.015625, 447, 448, 500],
          ...[-448, -1e-9, 0, NaN, Infinity, -Infinity, 15.9, 0.0146484375],
        ]),
        values([1]),
      ],
      { format: "e4m3" },
    ),
    sample(
      "the same in the other format",
      [
        values([
          ...[1, 2, 0.5, 1.125, 1.375, 2 ** -16, 2 ** -17, 3 * 2 ** -17, 2 ** -14, 57344, 61440, 1e9],
          ...[-57344, -1e-9, 0, NaN, Infinity, -Infinity, 15.9],
        ]),
        values([1]),
      ],
      { format: "e5m2" },
    ),
    sample("nothing", [values([], [2, 0]), values([], [2, 0])], { format: "e4m3", block: 4 }),
  ]),
});
