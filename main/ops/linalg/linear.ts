import type { CpuEmitter, CpuValue } from "../../backends/cpu/emitter.ts";
import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { productOf } from "../../ir/dim.ts";
import { isPacked, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { TensorType } from "../../ir/type.ts";
import { like, tensor } from "../../ir/type.ts";
import type { InputsOf, Lowering, Op, Range, VjpContext } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { leadingBatch } from "../families/batching.ts";
import { REALS, WEIGHTS, castTo, inDouble, takesTypes } from "../../backends/cpu/rules.ts";
import { denseWeight, inferLinear, milLinear, multiplyTransposed } from "../families/linear.ts";
import { normal, normals, sample, values, weight, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

/** All axes but the last as one. */
function rowsOf(g: OpBuilder, x: Value): Value {
  const { shape } = g.typeOf(x);
  return g.reshape([x], { shape: [productOf(shape.slice(0, -1)), shape.at(-1) ?? 1] });
}

/** dx = ct·w, dw = ctᵀ·x (not for packed weights), db = Σ ct. */
function gradient({ g, ct, inputs: [x, w, bias] }: VjpContext<NoAttrs, Range<2, 3>>): readonly (Value | undefined)[] {
  const rows = rowsOf(g, ct);
  const dx = g.reshape([g.matmul([rows, denseWeight(g, x, w)])], { shape: g.typeOf(x).shape });
  const db = bias === undefined ? [] : [g.reduce([rows], { kind: "sum", axes: [0] })];
  const { dtype } = g.typeOf(w);
  if (isPacked(dtype)) return [dx, undefined, ...db];
  const dw = g.matmul([g.transpose([rows], { perm: [1, 0] }), rowsOf(g, x)]);
  return [dx, g.typeOf(dw).dtype === dtype ? dw : g.cast([dw], { to: plainDType(dtype, "linear") }), ...db];
}

/**
 * As a product of all rows and a sum, in f64: where an operand is f64, or a row has no elements
 * (the kernel wants one).
 */
function cpuInDouble(e: CpuEmitter, [x, w, bias]: InputsOf<Range<2, 3>, CpuValue>, type: TensorType): CpuValue {
  const [columns = 1, rows = 1] = [x.type.shape.at(-1), w.type.shape[0]];
  const lines = productOf(x.type.shape.slice(0, -1));
  const flat = e.view(inDouble(e, x), tensor("f64", [lines, columns]));
  const product = e.one("matmul", [flat, inDouble(e, w)], tensor("f64", [lines, rows]), {
    transposeA: false,
    transposeB: true,
  });
  const shaped = e.view(product, like(type, "f64"));
  const sum = bias === undefined ? shaped : e.one("add", [shaped, inDouble(e, bias)], shaped.type);
  return castTo(e, sum, plainDType(type.dtype, "linear"));
}

const cpuLinear: Lowering<CpuEmitter, CpuValue, NoAttrs, Range<2, 3>> = {
  kind: "native",
  emit: (e, inputs, _attrs, { outputs }) => {
    const [type] = outputs;
    const given = inputs.filter((value) => value !== undefined);
    const isEmpty = inputs[0].type.shape.at(-1) === 0;
    return type !== undefined && (isEmpty || given.some((value) => value.type.dtype === "f64"))
      ? cpuInDouble(e, inputs, type)
      : e.instr("linear", given, outputs);
  },
  when: (node) => takesTypes("linear", [REALS, [...WEIGHTS, "f64"], REALS], node),
};

export const linear: Op<"linear", NoAttrs, Range<2, 3>> = defineOp({
  name: "linear",
  summary: "x · weightᵀ (+ bias): weight [out, in], plain or packed.",
  arity: { least: 2, most: 3 },
  operands: ["x", "weight", "bias"],
  outputs: "one",
  attributes: {},
  infer: ([x, w, bias]) => inferLinear("linear", x, w, bias),
  reference: ([x, w, bias]) => multiplyTransposed(x, w, bias),
  oracle: { numpy: "np.einsum('...i,oi->...o', x0, x1) + (xs[2] if len(xs) > 2 else 0)" },
  gradient: { kind: "vjp", rule: gradient },
  batching: leadingBatch("linear", ({ g, inputs }) => g.linear(inputs)),
  traits: ["pure"],
  backends: {
    cpu: cpuLinear,
    coreml: { ...milNative((e, [x, w, bias]) => milLinear(e, x, w, bias)), splits: 1 },
    mlx: mlxCall("linear"),
  },
  samples: withDoubles([
    sample("odd sizes", normals(1, [3, 5], [7, 5]), {}),
    sample("bias, symbolic rows", normals(3, ["T", 4], [3, 4], [3]), {}, { bindings: { T: 3 } }),
    sample("more leading axes", normals(6, [2, 3, 4], [5, 4]), {}),
    sample("a vector", normals(8, [6], [2, 6], [2]), {}),
    sample("no rows", [values([], [0, 4]), normal(17, [3, 4]), normal(18, [3])], {}),
    sample("no inner size", [values([], [2, 0]), values([], [3, 0]), normal(19, [3])], {}),
    sample("no inner size, no bias", [values([], [2, 0]), values([], [3, 0])], {}),
    sample("packed weight", [normal(11, [3, 64]), weight(12, [5, 64], "q8_0")], {}),
    sample(
      "packed weight of 256-blocks",
      [normal(13, ["T", 256]), weight(14, [3, 256], "q4_k")],
      {},
      { bindings: { T: 2 } },
    ),
    sample("half weight", [normal(15, [2, 7]), weight(16, [3, 7], "f16")], {}, { differentiable: false }),
  ]),
});
