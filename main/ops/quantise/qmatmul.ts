import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { InputsOf, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import type { RequantizeAttrs } from "../families/affine.ts";
import {
  CODES_ON_HOST,
  EXACT_PRODUCTS,
  NO_SLOPE,
  centred,
  checkCodes,
  codeOf,
  requantizeSchema,
  requantized,
  someCodes,
  wholeSum,
} from "../families/affine.ts";
import { bordered } from "../families/constants.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { integers, sample, values } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

type Arity = Range<2, 3>;

function infer([x, w, bias]: InputsOf<Arity, TensorType>): TensorType {
  const [rows, inner] = x.shape;
  const [own, columns] = w.shape;
  if (x.shape.length !== 2 || w.shape.length !== 2 || typeof inner !== "number" || inner !== own)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[qmatmul] got ${formatType(x)} and ${formatType(w)}, expected [M, K] and [K, N] with a known K`,
    );
  checkCodes("qmatmul", [x, w], bias, columns);
  return tensor("i8", [rows ?? 1, columns ?? 1]);
}

/** Runs of the inner axis are summed in f32, exactly, and these sums in i32. */
function parts(g: OpBuilder, [x, w, bias]: InputsOf<Arity, Value>, attrs: RequantizeAttrs): Value {
  const [rows = 1, inner = 1] = g.typeOf(x).shape;
  const columns = g.typeOf(w).shape[1] ?? 1;
  const [left, right] = [centred(g, x, attrs.xZero), centred(g, w, attrs.weightZero)];
  const runs = Math.ceil(Number(inner) / EXACT_PRODUCTS);
  const whole = runs <= 1 ? wholeSum(g, g.matmul([left, right])) : inRuns();
  return requantized(g, bias === undefined ? whole : g.add([whole, bias]), attrs);

  function inRuns(): Value {
    const border = [0, runs * EXACT_PRODUCTS - Number(inner)] as const;
    const a = g.reshape([bordered(g, left, 1, border, 0)], { shape: [rows, runs, EXACT_PRODUCTS] });
    const b = g.reshape([bordered(g, right, 0, border, 0)], { shape: [runs, EXACT_PRODUCTS, columns] });
    const products = g.matmul([g.transpose([a], { perm: [1, 0, 2] }), b]);
    return g.reduce([wholeSum(g, products)], { kind: "sum", axes: [0] });
  }
}

const ATTRS: RequantizeAttrs = { xZero: 3, weightZero: -2, outZero: 5, scale: 0.0173 };

export const qmatmul: Op<"qmatmul", RequantizeAttrs, Arity> = defineOp({
  name: "qmatmul",
  summary:
    "A product of codes [M, K] · [K, N], summed exactly: round((bias + Σ (x − xZero)(w − weightZero)) · scale) + outZero, held within eight bits; bias is i32[N].",
  arity: { least: 2, most: 3 },
  operands: ["x", "weight", "bias"],
  outputs: "one",
  attributes: requantizeSchema,
  infer,
  reference: ([x, w, bias], { xZero, weightZero, outZero, scale }) => {
    const [rows, inner, columns] = [at(x.shape, 0), at(x.shape, 1), at(w.shape, 1)];
    const out = new Float64Array(rows * columns).map((_, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      let sum = bias === undefined ? 0 : at(bias.data, column);
      for (let k = 0; k < inner; k++)
        sum += (at(x.data, row * inner + k) - xZero) * (at(w.data, k * columns + column) - weightZero);
      return codeOf(sum * scale, outZero);
    });
    return hostTensor("i8", [rows, columns], out);
  },
  oracle: {
    numpy: lines(
      "total = (x0.astype(np.int64) - a['xZero']) @ (x1.astype(np.int64) - a['weightZero']) + (xs[2] if len(xs) > 2 else 0)",
      "np.clip(np.rint(total * a['scale']) + a['outZero'], -128, 127).astype(np.int8)",
    ),
  },
  gradient: NO_SLOPE,
  batching: decomposed(parts),
  traits: ["pure"],
  backends: { cpu: decomposed(parts), coreml: CODES_ON_HOST, mlx: decomposed(parts) },
  samples: [
    sample("odd sizes", [someCodes(1, [3, 5]), someCodes(2, [5, 7]), integers(3, [7], -999, 999)], {
      ...ATTRS,
      scale: 0.0021,
    }),
    sample(
      "no bias, symbolic rows",
      [someCodes(4, ["T", 6]), someCodes(5, [6, 4])],
      { ...ATTRS, scale: 0.0017 },
      { bindings: { T: 3 } },
    ),
    sample("more than one run of the inner axis", [someCodes(6, [2, 601]), someCodes(7, [601, 3])], {
      ...ATTRS,
      scale: 0.000213,
    }),
    sample(
      "the largest sums",
      [
        values(new Array<number>(512).fill(-128), [1, 512], "i8"),
        values(new Array<number>(512).fill(-128), [512, 1], "i8"),
      ],
      { xZero: 127, weightZero: 127, outZero: 0, scale: 3.1e-6 },
    ),
    sample("saturates", [someCodes(8, [3, 9]), someCodes(9, [9, 3])], { ...ATTRS, scale: 1 }),
    sample("no rows", [values([], [0, 3], "i8"), someCodes(10, [3, 2])], ATTRS),
  ],
});
