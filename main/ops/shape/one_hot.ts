import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, nondifferentiable } from "../defineOp.ts";
import { at, boundShape } from "../families/host.ts";
import { byParts } from "../families/parts.ts";
import { integers, sample, values } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface OneHotAttrs {
  readonly depth: Dim;
  readonly dtype: DType;
}

function parts(g: OpBuilder, [indices]: readonly [Value], { depth, dtype }: OneHotAttrs): Value {
  const column = g.reshape([indices], { shape: [...g.typeOf(indices).shape, 1] });
  const hit = g.compare([column, g.iota([], { shape: [depth], axis: 0 })], { op: "eq" });
  return dtype === "bool" ? hit : g.cast([hit], { to: dtype });
}

export const one_hot: Op<"one_hot", OneHotAttrs, 1> = defineOp({
  name: "one_hot",
  summary: "A new last axis with 1 at the position that the index names and 0 elsewhere; zeros alone for one outside.",
  arity: 1,
  operands: ["indices"],
  outputs: "one",
  attributes: { depth: attr.dim(), dtype: attr.dtype() },
  infer: ([indices], { depth, dtype }) => {
    if (indices.dtype !== "i32")
      throw new WorkbenchError("IR_TYPE", `[one_hot] indices: got ${formatType(indices)}, expected i32`);
    if (dtype === "c64")
      throw new WorkbenchError("IR_TYPE", "[one_hot] dtype: got c64, expected a real number or bool");
    return tensor(dtype, [...indices.shape, depth]);
  },
  reference: ([indices], { dtype }, [type]) => {
    const shape = boundShape(type, "one_hot");
    const depth = at(shape, shape.length - 1);
    const out = new Float64Array(sizeOf(shape)).map((_, i) =>
      Number(at(indices.data, Math.floor(i / depth)) === i % depth),
    );
    return hostTensor(dtype, shape, out);
  },
  oracle: {
    numpy:
      "(x0[..., None] == np.arange(s[-1])).astype({'f32': 'f8', 'f64': 'f8', 'bool': '?'}.get(a['dtype'], a['dtype']))",
  },
  ...byParts(parts),
  gradient: nondifferentiable("its operand is whole numbers: there is nothing to differentiate by"),
  traits: ["pure"],
  samples: [
    sample("odd sizes, two outside", [values([0, 4, -1, 5, 2, 2], [2, 3], "i32")], { depth: 5, dtype: "f32" }),
    sample("truth values", [integers(2, [4], 0, 2)], { depth: 3, dtype: "bool" }),
    sample(
      "symbolic count and depth",
      [integers(3, ["T"], 0, 3)],
      { depth: "2*T", dtype: "f32" },
      { bindings: { T: 3 } },
    ),
    sample("float64", [integers(4, [3], 0, 2)], { depth: 3, dtype: "f64" }),
    sample("no indices", [values([], [0], "i32")], { depth: 3, dtype: "f32" }),
  ],
});
