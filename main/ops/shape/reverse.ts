import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { addDims } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import { hostTensor, stridesOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { normalizeAxis, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { MOVABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, stridedCopy } from "../families/host.ts";
import { integers, normal, sample, values, withDoubles } from "../families/samples.ts";

export interface ReverseAttrs {
  readonly axes: readonly number[];
}

/** From 0, each once. */
function axesOf({ axes }: ReverseAttrs, x: TensorType | undefined): readonly number[] {
  const from = axes.map((axis) => normalizeAxis(axis, x?.shape.length ?? 0, "reverse"));
  if (new Set(from).size !== from.length)
    throw new WorkbenchError("IR_SHAPE", `[reverse] an axis is named twice: got ${axes.join(", ")}`);
  return from;
}

export const reverse: Op<"reverse", ReverseAttrs, 1> = defineOp({
  name: "reverse",
  summary: "The positions of some axes from the last to the first.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { axes: attr.ints() },
  infer: ([x], attrs) => {
    axesOf(attrs, x);
    return tensor(plainDType(x.dtype, "reverse"), x.shape);
  },
  reference: ([x], attrs) => {
    const axes = axesOf(attrs, x);
    const strides = stridesOf(x.shape);
    const start = axes.reduce((sum, axis) => sum + (at(x.shape, axis) - 1) * at(strides, axis), 0);
    const steps = strides.map((stride, axis) => (axes.includes(axis) ? -stride : stride));
    return hostTensor(x.dtype, x.shape, stridedCopy(x.data, x.shape, steps, start));
  },
  oracle: { numpy: 'np.flip(x0, tuple(a["axes"]))' },
  gradient: { kind: "vjp", rule: ({ g, ct, attrs }) => [g.reverse([ct], attrs)] },
  batching: {
    kind: "rule",
    rule: ({ g, inputs: [x], attrs, node }) =>
      g.reverse([x], { axes: axesOf(attrs, node.inputs[0]).map((axis) => axis + 1) }),
  },
  traits: ["pure", "movement"],
  backends: {
    cpu: cpuKernel("slice", {
      takes: MOVABLE,
      params: (attrs, { inputs: [x] }) => {
        const axes = axesOf(attrs, x);
        return {
          starts: (x?.shape ?? []).map((size, axis) => (axes.includes(axis) ? addDims(size, -1) : 0)),
          steps: (x?.shape ?? []).map((_, axis) => (axes.includes(axis) ? -1 : 1)),
        };
      },
    }),
    coreml: milNative((e, [x], attrs, { inputs }) => {
      const axes = axesOf(attrs, inputs[0]);
      return axes.length === 0 ? e.op("identity", { x }) : e.op("reverse", { x, axes });
    }),
    mlx: mlxCall("reverse", { takes: "any", attrs: (attrs, { inputs }) => ({ axes: axesOf(attrs, inputs[0]) }) }),
  },
  samples: withDoubles([
    sample("last axis, odd sizes", [normal(1, [3, 5])], { axes: [-1] }),
    sample("two axes of three", [normal(2, [2, 3, 4])], { axes: [2, 0] }),
    sample("symbolic rows", [normal(3, ["T", 3])], { axes: [0] }, { bindings: { T: 5 } }),
    sample("whole numbers", [integers(4, [7], -99, 99)], { axes: [0] }),
    sample("truth values", [integers(5, [2, 4], 0, 1, "bool")], { axes: [1] }),
    sample("an empty axis", [values([], [2, 0, 3])], { axes: [1] }),
    sample("beside an empty axis", [values([], [0, 3])], { axes: [1] }),
    sample("no axis: a copy", [normal(6, [2, 3])], { axes: [] }),
  ]),
});
