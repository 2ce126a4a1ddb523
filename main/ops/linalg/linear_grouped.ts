import type { CpuEmitter, CpuValue } from "../../backends/cpu/emitter.ts";
import { REALS, WEIGHTS, takesTypes } from "../../backends/cpu/rules.ts";
import { mlxNative, present, withoutDouble } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { mulDims } from "../../ir/dim.ts";
import { isFloat, isPacked, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostScalar, hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import type { InputsOf, Lowering, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { eachItem } from "../families/batching.ts";
import { at, indexWithin } from "../families/host.ts";
import { denseWeight } from "../families/linear.ts";
import { integers, normal, values, weight, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { swapLast } from "./matmul.ts";

type Arity = Range<3, 4>;

export interface LinearGroupedAttrs {
  /** Slot j of each token takes matrix j: the numbers are known, and the products are one batch. */
  readonly own?: boolean;
}

function infer([x, w, ids, bias]: InputsOf<Arity, TensorType>, { own }: LinearGroupedAttrs): TensorType {
  const dtype = plainDType(x.dtype, "linear_grouped");
  if (!isFloat(dtype) || !(isFloat(w.dtype) || isPacked(w.dtype)) || ids.dtype !== "i32")
    throw new WorkbenchError(
      "IR_TYPE",
      `[linear_grouped] operands: got ${[x, w, ids].map(formatType).join(", ")}; expected floats, a float or packed weight, i32`,
    );
  const [tokens, copies, inner] = x.shape;
  const [experts, out, columns] = w.shape;
  const [rows, slots] = ids.shape;
  const fits =
    tokens !== undefined &&
    experts !== undefined &&
    out !== undefined &&
    rows !== undefined &&
    slots !== undefined &&
    inner === columns &&
    tokens === rows &&
    (copies === 1 || copies === slots) &&
    x.shape.length === 3 &&
    w.shape.length === 3 &&
    ids.shape.length === 2 &&
    (own !== true || (slots === experts && copies === slots));
  if (!fits)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[linear_grouped] got ${[x, w, ids].map(formatType).join(", ")}; expected [T, 1 or k, in], [experts, out, in], [T, k]${own === true ? ", a slot for each expert" : ""}`,
    );
  if (bias && (bias.dtype !== dtype || !sameShape(bias.shape, [experts, out])))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[linear_grouped] bias: got ${formatType(bias)}, expected ${dtype}[${experts}, ${out}]`,
    );
  return tensor(dtype, [rows, slots, out]);
}

/**
 * A slot for each matrix: one batch of products. Few rows: each slot's matrix is picked and
 * multiplied. Many, or a number that is not known: every row meets every matrix, and the wanted
 * products are picked, which needs less memory than a matrix for each slot.
 */
function decompose(
  g: OpBuilder,
  [x, w, ids, bias]: InputsOf<Arity, Value>,
  { own = false }: LinearGroupedAttrs,
): Value {
  const [experts = 1, out = 1, inner = 1] = g.typeOf(w).shape;
  const [tokens = 1, slots = 1] = g.typeOf(ids).shape;
  const copies = g.typeOf(x).shape[1] ?? 1;
  const shape = [tokens, slots, out];
  const isFew = typeof tokens === "number" && typeof slots === "number" && tokens * slots < Number(experts);
  const product = own ? ownMatrices() : isFew ? pickedMatrices() : pickedProducts();
  return bias === undefined ? product : g.add([product, g.gather([bias, ids], { axis: 0 })]);

  function ownMatrices(): Value {
    const rows = g.transpose([x], { perm: [1, 0, 2] });
    return g.transpose([g.matmul([rows, swapLast(g, denseWeight(g, x, w))])], { perm: [1, 0, 2] });
  }

  function pickedMatrices(): Value {
    const matrices = denseWeight(g, x, g.gather([w, ids], { axis: 0 }));
    const columns = g.reshape([x], { shape: [tokens, copies, inner, 1] });
    return g.reshape([g.matmul([matrices, columns])], { shape });
  }

  function pickedProducts(): Value {
    const lines = mulDims(tokens, copies);
    const rows = g.reshape([x], { shape: [lines, inner] });
    const all = g.transpose([g.matmul([rows, swapLast(g, denseWeight(g, x, w))])], { perm: [1, 0, 2] });
    // Row `line · experts + expert` of all products.
    const flat = g.reshape([all], { shape: [mulDims(lines, experts), out] });
    const count = g.iota([], { shape: [lines, 1], axis: 0 });
    const line = g.reshape([count], { shape: copies === 1 ? [tokens, 1] : [tokens, slots] });
    const size = g.constant(hostScalar("i32", Number(experts)));
    return g.gather([flat, g.add([g.mul([line, size]), ids])], { axis: 0 });
  }
}

const cpu: Lowering<CpuEmitter, CpuValue, LinearGroupedAttrs, Arity> = {
  kind: "native",
  emit: (e, inputs, _attrs, { outputs }) =>
    e.instr(
      "linear_grouped",
      inputs.filter((value) => value !== undefined),
      outputs,
    ),
  when: (node) => takesTypes("linear_grouped", [REALS.filter((type) => type !== "f64"), WEIGHTS, ["i32"], REALS], node),
};

export const linear_grouped: Op<"linear_grouped", LinearGroupedAttrs, Arity> = defineOp({
  name: "linear_grouped",
  summary:
    "Each row of x by the matrix of its expert: out[t, j] = weight[ids[t, j]] · x[t, j] (+ bias). x has one row for all slots of a token, or a row for each. `own` says that ids[t, j] is j. The weight [experts, out, in] may be packed, and is then read as it lies.",
  arity: { least: 3, most: 4 },
  operands: ["x", "weight", "experts", "bias"],
  outputs: "one",
  attributes: { own: attr.optional(attr.bool()) },
  infer,
  reference: ([x, w, ids, bias]) => {
    const [, copies = 1, inner = 1] = x.shape;
    const [experts = 1, out = 1] = w.shape;
    const [tokens = 0, slots = 0] = ids.shape;
    const data = new Float64Array(tokens * slots * out);
    for (let slot = 0; slot < tokens * slots; slot++) {
      const expert = indexWithin(at(ids.data, slot), experts, "linear_grouped");
      const row = (copies === 1 ? Math.floor(slot / slots) : slot) * inner;
      for (let o = 0; o < out; o++) {
        const line = expert * out + o;
        let sum = bias ? at(bias.data, line) : 0;
        for (let i = 0; i < inner; i++) sum += at(x.data, row + i) * at(w.data, line * inner + i);
        data[slot * out + o] = sum;
      }
    }
    return hostTensor(x.dtype, [tokens, slots, out], data);
  },
  oracle: {
    numpy:
      "np.einsum('tji,tjoi->tjo', np.broadcast_to(x0, (*x2.shape, x0.shape[2])), x1[x2]) + (xs[3][x2] if len(xs) > 3 else 0)",
  },
  gradient: decomposed(decompose),
  batching: eachItem("linear_grouped"),
  traits: ["pure"],
  backends: {
    cpu,
    coreml: decomposed(decompose),
    mlx: mlxNative(
      "linear_grouped",
      (e, inputs, _attrs, { outputs }) => {
        const [, w, ids] = inputs;
        const checked = ids !== undefined && e.checks(ids, w?.type.shape[0] ?? 0);
        return e.call("linear_grouped", present(inputs), outputs, { checked });
      },
      { when: withoutDouble("gather_mm") },
    ),
  },
  samples: withDoubles([
    {
      title: "one row for all slots",
      inputs: [normal(1, [3, 1, 5]), normal(2, [4, 7, 5]), integers(3, [3, 2], 0, 3)],
      attrs: {},
    },
    {
      title: "a row for each slot, few rows",
      inputs: [normal(4, [1, 3, 5]), normal(5, [9, 2, 5]), values([7, 0, 7], [1, 3], "i32")],
      attrs: {},
    },
    {
      title: "bias, symbolic tokens",
      inputs: [normal(6, ["T", 2, 4]), normal(7, [3, 5, 4]), integers(8, ["T", 2], 0, 2), normal(9, [3, 5])],
      attrs: {},
      bindings: { T: 4 },
    },
    {
      title: "few rows, bias",
      inputs: [normal(10, [1, 1, 4]), normal(11, [5, 3, 4]), values([4, 1], [1, 2], "i32"), normal(12, [5, 3])],
      attrs: {},
    },
    {
      title: "one expert takes all",
      inputs: [normal(13, [9, 1, 6]), normal(14, [3, 4, 6]), values(new Array<number>(9).fill(1), [9, 1], "i32")],
      attrs: {},
    },
    {
      title: "packed weight",
      inputs: [normal(15, [5, 1, 64]), weight(16, [4, 3, 64], "q8_0"), integers(17, [5, 2], 0, 3)],
      attrs: {},
    },
    {
      title: "packed weight of 256-blocks",
      inputs: [normal(18, ["T", 2, 256]), weight(19, [3, 9, 256], "q4_k"), integers(20, ["T", 2], 0, 2)],
      attrs: {},
      bindings: { T: 7 },
      differentiable: false,
    },
    {
      title: "half weight",
      inputs: [normal(21, [2, 1, 7]), weight(22, [3, 5, 7], "f16"), integers(23, [2, 2], 0, 2)],
      attrs: {},
      differentiable: false,
    },
    {
      title: "a matrix for each slot",
      inputs: [normal(25, ["T", 3, 5]), normal(26, [3, 4, 5]), values([0, 1, 2, 0, 1, 2], ["T", 3], "i32")],
      attrs: { own: true },
      bindings: { T: 2 },
    },
    {
      title: "no tokens",
      inputs: [values([], [0, 1, 4]), normal(24, [3, 2, 4]), values([], [0, 2], "i32")],
      attrs: {},
    },
  ]),
});
