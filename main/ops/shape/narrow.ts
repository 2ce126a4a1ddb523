import { milNative } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim } from "../../ir/dim.ts";
import { addDims, staticDim, subDims } from "../../ir/dim.ts";
import { plainDType } from "../../ir/dtype.ts";
import { hostTensor, stridesOf } from "../../ir/hostTensor.ts";
import { formatType, normalizeAxis, staticShape, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { axisBatching, rankOf } from "../families/axes.ts";
import { bordered } from "../families/constants.ts";
import { MOVABLE, cpuKernel } from "../../backends/cpu/rules.ts";
import { at, boundShape, stridedCopy } from "../families/host.ts";
import { integers, normal, sample, withDoubles } from "../families/samples.ts";

export interface NarrowAttrs {
  readonly axis: number;
  readonly start: Dim;
  readonly length: Dim;
}

export const narrow: Op<"narrow", NarrowAttrs, 1> = defineOp({
  name: "narrow",
  summary: "A run of `length` positions from `start` along one axis.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: { axis: attr.int(), start: attr.dim(), length: attr.dim() },
  infer: ([x], { axis, start, length }) => {
    const along = normalizeAxis(axis, x.shape.length, "narrow");
    const size = x.shape[along] ?? 0;
    const end = addDims(start, length);
    if (typeof end === "number" && typeof size === "number" && end > size)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[narrow] range ends outside: got ${start}..${end} of axis ${along} of ${formatType(x)}`,
      );
    return tensor(
      plainDType(x.dtype, "narrow"),
      x.shape.map((dim, i) => (i === along ? length : dim)),
    );
  },
  reference: ([x], { axis, start }, [type]) => {
    const shape = boundShape(type, "narrow");
    const strides = stridesOf(x.shape);
    const offset = staticDim(start, "narrow") * at(strides, normalizeAxis(axis, x.shape.length, "narrow"));
    return hostTensor(x.dtype, shape, stridedCopy(x.data, shape, strides, offset));
  },
  oracle: { numpy: 'np.take(x0, np.arange(a["start"], a["start"] + a["length"]), a["axis"])' },
  // Zeros before and after.
  gradient: {
    kind: "vjp",
    rule: ({ g, ct, inputs: [x], attrs: { axis, start, length } }) => {
      const { shape } = g.typeOf(x);
      const along = normalizeAxis(axis, shape.length, "narrow");
      return [bordered(g, ct, along, [start, subDims(shape[along] ?? 0, addDims(start, length))], 0)];
    },
  },
  batching: axisBatching("narrow"),
  traits: ["pure", "movement"],
  backends: {
    cpu: cpuKernel("narrow", {
      takes: MOVABLE,
      params: ({ axis, start }, node) => ({ axis: normalizeAxis(axis, rankOf(node), "narrow"), start }),
    }),
    coreml: milNative((e, [x], { axis, start }, node) => {
      const [to] = node.outputs;
      const size = to ? staticShape(to, "narrow") : [];
      const along = normalizeAxis(axis, rankOf(node), "narrow");
      return e.op("slice_by_size", {
        x,
        begin: size.map((_, i) => (i === along ? staticDim(start, "narrow") : 0)),
        size,
      });
    }),
    mlx: mlxCall("narrow", {
      takes: "any",
      attrs: ({ axis, start }, node) => ({ axis: normalizeAxis(axis, rankOf(node), "narrow"), start }),
    }),
  },
  samples: withDoubles([
    sample("middle, odd sizes", [normal(1, [3, 7, 2])], { axis: 1, start: 2, length: 3 }),
    sample("last axis, to the end", [normal(2, [3, 5])], { axis: -1, start: 3, length: 2 }),
    sample("symbolic rows", [normal(3, ["T", 5])], { axis: 1, start: 0, length: 4 }, { bindings: { T: 3 } }),
    sample("symbolic start", [normal(4, ["2*T", 3])], { axis: 0, start: "T", length: "T" }, { bindings: { T: 2 } }),
    sample("whole numbers", [integers(5, [9], -9, 9)], { axis: 0, start: 8, length: 1 }),
  ]),
});
