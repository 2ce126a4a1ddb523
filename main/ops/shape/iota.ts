import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { normalizeAxis, staticShape, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, nondifferentiable, unsupported } from "../defineOp.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { axisWalk, boundShape } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { sample } from "../families/samples.ts";

export interface IotaAttrs {
  readonly shape: Shape;
  readonly axis: number;
}

function count(shape: readonly number[], axis: number): Float64Array {
  const { size, inner } = axisWalk(shape, normalizeAxis(axis, shape.length, "iota"));
  return new Float64Array(sizeOf(shape)).map((_, i) => Math.floor(i / inner) % size);
}

export const iota: Op<"iota", IotaAttrs, 0> = defineOp({
  name: "iota",
  summary: "Whole numbers 0, 1, 2 … along one axis, the same along the others.",
  arity: 0,
  operands: [],
  outputs: "one",
  attributes: { shape: attr.dims(), axis: attr.int() },
  infer: (_inputs, { shape, axis }) => {
    normalizeAxis(axis, shape.length, "iota");
    return tensor("i32", shape);
  },
  reference: (_inputs, { axis }, [type]) => {
    const shape = boundShape(type, "iota");
    return hostTensor("i32", shape, count(shape, axis));
  },
  oracle: {
    numpy: lines(
      'line = np.arange(s[a["axis"]], dtype=np.int32)',
      'np.broadcast_to(line.reshape([-1 if i == a["axis"] % len(s) else 1 for i in range(len(s))]), s)',
    ),
  },
  gradient: nondifferentiable("it has no operands to differentiate by"),
  batching: unsupported("it has no operands: nothing in it can be batched"),
  traits: ["pure"],
  backends: {
    cpu: cpuKernel("iota", { params: ({ shape, axis }) => ({ axis: normalizeAxis(axis, shape.length, "iota") }) }),
    coreml: milNative((e, _inputs, { axis }, node) => {
      const [type] = node.outputs;
      const shape = type ? staticShape(type, "iota") : [];
      return e.constant("int32", shape, count(shape, axis));
    }),
    mlx: mlxCall("iota", { attrs: ({ shape, axis }) => ({ axis: normalizeAxis(axis, shape.length, "iota") }) }),
  },
  samples: [
    sample("a line", [], { shape: [7], axis: 0 }),
    sample("along the first of two axes", [], { shape: [3, 5], axis: 0 }),
    sample("symbolic, last axis", [], { shape: ["T", 3], axis: -1 }, { bindings: { T: 2 } }),
    sample("symbolic length", [], { shape: ["T"], axis: 0 }, { bindings: { T: 4 } }),
  ],
});
