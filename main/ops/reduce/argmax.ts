import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { normalizeAxis, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, nondifferentiable } from "../defineOp.ts";
import { shiftAxis } from "../families/batching.ts";
import { NUMBERS, cpuKernel } from "../families/cpu.ts";
import { at, boundShape, forEachLine } from "../families/host.ts";
import { integers, normal, values, withDoubles } from "../families/samples.ts";

export interface ArgmaxAttrs {
  readonly axis: number;
}

export const argmax: Op<"argmax", ArgmaxAttrs, 1> = defineOp({
  name: "argmax",
  summary: "Position of the largest element along one axis, the first of equals.",
  arity: 1,
  outputs: "one",
  attributes: { axis: attr.int() },
  infer: ([x], { axis }) => {
    dtypeAmong("numbers", x.dtype, "argmax");
    const along = normalizeAxis(axis, x.shape.length, "argmax");
    return tensor(
      "i32",
      x.shape.filter((_, i) => i !== along),
    );
  },
  reference: ([x], { axis }, [type]) => {
    const shape = boundShape(type, "argmax");
    const along = normalizeAxis(axis, x.shape.length, "argmax");
    const size = at(x.shape, along);
    const found: number[] = [];
    forEachLine(x.shape, along, (start, stride) => {
      let best = 0;
      for (let i = 1; i < size; i++) if (at(x.data, start + i * stride) > at(x.data, start + best * stride)) best = i;
      found.push(best);
    });
    return hostTensor("i32", shape, found);
  },
  gradient: nondifferentiable("the result is a position: its derivative is zero wherever it exists"),
  batching: {
    kind: "rule",
    rule: ({ g, inputs: [x], attrs: { axis }, node }) =>
      g.argmax([x], { axis: shiftAxis(axis, node.inputs[0]?.shape.length ?? 0) }),
  },
  traits: ["pure", "reduction"],
  backends: {
    cpu: cpuKernel("argmax", {
      takes: NUMBERS,
      params: ({ axis }, node) => ({ axis: normalizeAxis(axis, node.inputs[0]?.shape.length ?? 0, "argmax") }),
    }),
    coreml: milNative((e, [x], { axis }) => e.op("reduce_argmax", { x, axis, keep_dims: false })),
    mlx: mlxCall("argmax", {
      takes: "numbers",
      attrs: ({ axis }, node) => ({ axis: normalizeAxis(axis, node.inputs[0]?.shape.length ?? 0, "argmax") }),
    }),
  },
  samples: withDoubles([
    { title: "last axis, odd sizes", inputs: [normal(1, [3, 5])], attrs: { axis: -1 } },
    { title: "first axis", inputs: [normal(2, [5, 3])], attrs: { axis: 0 } },
    { title: "symbolic rows", inputs: [normal(3, ["T", 7])], attrs: { axis: 1 }, bindings: { T: 3 } },
    { title: "ties: the first", inputs: [values([1, 4, 2, 4, 4])], attrs: { axis: 0 } },
    { title: "whole numbers", inputs: [integers(4, [2, 9], -99, 99)], attrs: { axis: 1 } },
  ]),
});
