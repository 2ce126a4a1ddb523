import { WorkbenchError } from "../../diagnostics/errors.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { InputsOf, Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import type { Fp8Attrs } from "../families/fp8.ts";
import { checkScales, decodeParts, decoded, fp8Schema, scaleOf } from "../families/fp8.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, normal, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

function parts(g: OpBuilder, [x, codes, scale]: InputsOf<3, Value>, attrs: Fp8Attrs): Value {
  return g.matmul([x, g.transpose([decodeParts(g, codes, scale, attrs)], { perm: [1, 0] })]);
}

export const matmul_fp8: Op<"matmul_fp8", Fp8Attrs, 3> = defineOp({
  name: "matmul_fp8",
  summary:
    "x [M, K] times a weight [N, K] in codes of floats of eight bits, u8: the rows of the weight are the columns of the result, and `block` numbers of a row share a scale. Sums are in floats.",
  arity: 3,
  operands: ["x", "weight", "scale"],
  outputs: "one",
  attributes: fp8Schema,
  infer: ([x, codes, scale], attrs) => {
    const [rows = 1, inner] = x.shape;
    const [columns = 1, own] = codes.shape;
    if (x.shape.length !== 2 || codes.shape.length !== 2 || inner !== own || codes.dtype !== "u8")
      throw new WorkbenchError(
        "IR_SHAPE",
        `[matmul_fp8] got ${formatType(x)} and ${formatType(codes)}, expected floats [M, K] and u8 [N, K]`,
      );
    checkScales("matmul_fp8", codes, scale, attrs);
    if (!isFloat(x.dtype) || scale.dtype !== x.dtype)
      throw new WorkbenchError("IR_TYPE", `[matmul_fp8] scale: got ${formatType(scale)}, expected ${x.dtype}`, {
        hint: "Insert a cast.",
      });
    return tensor(plainDType(x.dtype, "matmul_fp8"), [rows, columns]);
  },
  reference: ([x, codes, scale], attrs) => {
    const own = scaleOf(codes, scale, attrs);
    const weight = codes.data.map((code, i) => decoded(code, attrs.format) * own(i));
    const [rows, inner, columns] = [at(x.shape, 0), at(x.shape, 1), at(codes.shape, 0)];
    const out = new Float64Array(rows * columns).map((_, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      let sum = 0;
      for (let k = 0; k < inner; k++) sum += at(x.data, row * inner + k) * at(weight, column * inner + k);
      return sum;
    });
    return hostTensor(x.dtype, [rows, columns], out);
  },
  oracle: {
    numpy: lines(
      "import ml_dtypes",
      "kind = {'e4m3': ml_dtypes.float8_e4m3fn, 'e5m2': ml_dtypes.float8_e5m2}[a['format']]",
      "table = np.arange(256, dtype='u1').view(kind).astype('f8')",
      "wide = np.repeat(x2, a['block'], -1)[..., : x1.shape[-1]] if a.get('block') else x2",
      "x0 @ (np.asarray(table)[x1] * wide).T",
    ),
  },
  ...byParts(parts),
  traits: ["pure", "sensitive"],
  samples: withDoubles([
    sample(
      "blocks, odd sizes",
      [normal(1, [3, 7]), integers(2, [5, 7], 0, 100, "u8"), uniform(3, [5, 2], 0.01, 0.03)],
      { format: "e4m3", block: 4 },
    ),
    sample(
      "a scale for each row, symbolic",
      [normal(4, ["T", 6]), integers(5, [3, 6], 128, 190, "u8"), normal(6, [3, 1], 0.1)],
      { format: "e5m2" },
      { bindings: { T: 3 } },
    ),
    sample(
      "blocks of thirty-two",
      [normal(7, [2, 96]), integers(8, [9, 96], 0, 110, "u8"), uniform(9, [9, 3], 0.001, 0.01)],
      { format: "e4m3", block: 32 },
    ),
    sample("no rows", [values([], [0, 3]), integers(10, [2, 3], 0, 100, "u8"), values([1, 1], [2, 1])], {
      format: "e4m3",
    }),
  ]),
});
