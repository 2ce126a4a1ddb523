import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { leadingBatch } from "../families/batching.ts";
import { scalarLike } from "../families/constants.ts";
import { at } from "../families/host.ts";
import { inferLinear, multiplyTransposed } from "../families/linear.ts";
import { normal, normals, sample, values, weight, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface LoraMatmulAttrs {
  readonly scale: number;
}

type Four<T> = readonly [T, T, T, T];

function infer([x, w, a, b]: Four<TensorType>): TensorType {
  const result = inferLinear("lora_matmul", x, w, undefined);
  const rank = a.shape[0] ?? 1;
  const isAdapter = [a, b].every(({ dtype }) => dtype === x.dtype);
  if (!isAdapter || !sameShape(a.shape, [rank, x.shape.at(-1) ?? 1]) || !sameShape(b.shape, [w.shape[0] ?? 1, rank]))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[lora_matmul] adapter: got ${formatType(a)} and ${formatType(b)}, expected [rank, in] and [out, rank] of ${x.dtype} for ${formatType(w)}`,
    );
  return result;
}

function parts(g: OpBuilder, [x, w, a, b]: Four<Value>, { scale }: LoraMatmulAttrs): Value {
  const own = g.linear([g.linear([x, a]), b]);
  return g.add([g.linear([x, w]), g.mul([own, scalarLike(g, own, scale)])]);
}

export const lora_matmul: Op<"lora_matmul", LoraMatmulAttrs, 4> = defineOp({
  name: "lora_matmul",
  summary:
    "A linear layer with an adapter: x · weightᵀ + scale · (x · aᵀ) · bᵀ; weight [out, in] plain or packed, a [rank, in], b [out, rank].",
  arity: 4,
  operands: ["x", "weight", "a", "b"],
  outputs: "one",
  attributes: { scale: attr.float() },
  infer,
  reference: ([x, w, a, b], { scale }) => {
    const base: HostTensor = multiplyTransposed(x, w, undefined);
    const own = multiplyTransposed(multiplyTransposed(x, a, undefined), b, undefined);
    return hostTensor(
      base.dtype,
      base.shape,
      base.data.map((value, i) => value + scale * at(own.data, i)),
    );
  },
  oracle: { numpy: "x0 @ np.swapaxes(x1, 0, 1) + a['scale'] * (x0 @ np.swapaxes(x2, 0, 1)) @ np.swapaxes(x3, 0, 1)" },
  gradient: decomposed(parts),
  batching: leadingBatch("lora_matmul", ({ g, inputs, attrs }) => g.lora_matmul(inputs, attrs)),
  traits: ["pure"],
  backends: everywhere(parts),
  samples: withDoubles([
    sample("odd sizes", normals(1, [3, 5], [7, 5], [2, 5], [7, 2]), { scale: 0.5 }),
    sample("symbolic rows", normals(5, ["T", 4], [3, 4], [1, 4], [3, 1]), { scale: -2 }, { bindings: { T: 3 } }),
    sample("more leading axes", normals(9, [2, 3, 4], [5, 4], [3, 4], [5, 3]), { scale: 1 }),
    sample("packed weight", [normal(13, [3, 64]), weight(14, [5, 64], "q8_0"), ...normals(15, [4, 64], [5, 4])], {
      scale: 0.25,
    }),
    sample("no rows", [values([], [0, 4]), ...normals(17, [3, 4], [2, 4], [3, 2])], { scale: 1 }),
  ]),
});
