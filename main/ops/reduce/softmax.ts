import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall, withoutDouble } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { normalizeAxis } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { axisBatching, axisParam } from "../families/axes.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, forEachLine } from "../families/host.ts";
import { normal, sample, values, withDoubles } from "../families/samples.ts";
import { inferUnary } from "../families/unary.ts";

export interface SoftmaxAttrs {
  readonly axis: number;
}

/** e^(x - max) / Σ of one line, in place. */
export function softmaxLine(data: Float64Array, start: number, stride: number, size: number): void {
  let max = -Infinity;
  for (let i = 0; i < size; i++) max = Math.max(max, at(data, start + i * stride));
  let sum = 0;
  for (let i = 0; i < size; i++) {
    const e = Math.exp(at(data, start + i * stride) - max);
    data[start + i * stride] = e;
    sum += e;
  }
  for (let i = 0; i < size; i++) data[start + i * stride] = at(data, start + i * stride) / sum;
}

export const softmax: Op<"softmax", SoftmaxAttrs, 1> = defineOp({
  name: "softmax",
  summary: "Exponentials divided by their sum along one axis.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { axis: attr.int() },
  infer: ([x], { axis }) => {
    normalizeAxis(axis, x.shape.length, "softmax");
    return inferUnary("softmax")([x]);
  },
  reference: ([x], { axis }) => {
    const along = normalizeAxis(axis, x.shape.length, "softmax");
    const data = x.data.slice();
    forEachLine(x.shape, along, (start, stride) => softmaxLine(data, start, stride, at(x.shape, along)));
    return hostTensor(x.dtype, x.shape, data);
  },
  oracle: { numpy: 'scipy.special.softmax(x0, a["axis"])' },
  // dx = y (ct - Σ ct y)
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, outputs: [y = ct], attrs: { axis } }) => {
      const weighted = g.mul([ct, y]);
      const total = g.reduce([weighted], { kind: "sum", axes: [axis], keepDims: true });
      return [g.sub([weighted, g.mul([y, total])])];
    },
  },
  batching: axisBatching("softmax"),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: cpuKernel("softmax", {
      takes: REALS,
      params: axisParam("softmax"),
    }),
    coreml: milNative((e, [x], { axis }) => e.op("softmax", { x, axis })),
    mlx: mlxCall("softmax", {
      attrs: axisParam("softmax"),
      when: withoutDouble("softmax"),
    }),
  },
  samples: withDoubles([
    sample("last axis, odd sizes", [normal(1, [3, 5])], { axis: -1 }),
    sample("middle axis", [normal(2, [2, 5, 3])], { axis: 1 }),
    sample("symbolic rows", [normal(3, ["T", 7], 3)], { axis: 1 }, { bindings: { T: 3 } }),
    sample("large values", [values([1000, 1001, 999, -1000])], { axis: 0 }),
    sample("one element", [normal(4, [3, 1])], { axis: 1 }),
  ]),
});
