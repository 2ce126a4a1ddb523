import { milNative, wrapsAsInt32 } from "../../backends/coreml/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim } from "../../ir/dim.ts";
import { productOf } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { isFloat, isInteger, plainDType } from "../../ir/dtype.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import type { Value } from "../../ir/graph.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, normalizeAxis, tensor } from "../../ir/type.ts";
import { multiplyWhole } from "../../ir/wholeNumbers.ts";
import type { Op, Sample, VjpContext } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { rankOf } from "../families/axes.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { filledLike, scalarLike, sizeValue } from "../families/constants.ts";
import { at, axisWalk } from "../families/host.ts";
import { integers, normal, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export type ReduceKind = "sum" | "mean" | "max" | "min" | "prod";
export interface ReduceAttrs {
  readonly kind: ReduceKind;
  readonly axes: readonly number[];
  /** Keep reduced axes as 1. */
  readonly keepDims?: boolean;
}

/** The kernel, and the operator of Core ML. */
const named = <K extends ReduceKind>(kind: K): `reduce_${K}` => `reduce_${kind}`;

/** Sorted, from 0, each once. */
function axesOf(attrs: ReduceAttrs, rank: number): readonly number[] {
  const axes = attrs.axes.map((axis) => normalizeAxis(axis, rank, "reduce")).sort((a, b) => a - b);
  if (new Set(axes).size !== axes.length)
    throw new WorkbenchError("IR_SHAPE", `[reduce] an axis is named twice: got ${attrs.axes.join(", ")}`);
  return axes;
}

function reduceAxis(
  data: Float64Array,
  shape: readonly number[],
  axis: number,
  start: number,
  f: (a: number, b: number) => number,
): Float64Array {
  const { outer, size, inner } = axisWalk(shape, axis);
  const out = new Float64Array(outer * inner).fill(start);
  for (let o = 0; o < outer; o++)
    for (let k = 0; k < size; k++)
      for (let i = 0; i < inner; i++)
        out[o * inner + i] = f(at(out, o * inner + i), at(data, (o * size + k) * inner + i));
  return out;
}

type Fold = (a: number, b: number, dtype: DType) => number;
const FOLD: { readonly [K in ReduceKind]: readonly [start: number, f: Fold] } = {
  sum: [0, (a, b) => a + b],
  mean: [0, (a, b) => a + b],
  max: [-Infinity, (a, b) => Math.max(a, b)],
  min: [Infinity, (a, b) => Math.min(a, b)],
  prod: [1, multiplyWhole],
};

function gradient({ g, inputs: [x], outputs, ct, attrs }: VjpContext<ReduceAttrs, 1>): readonly Value[] {
  const shape = g.typeOf(x).shape;
  const axes = axesOf(attrs, shape.length);
  const kept = shape.map((dim, i) => (axes.includes(i) ? 1 : dim));
  const spread = (v: Value): Value => g.reshape([v], { shape: kept });
  const stretched = g.expand([spread(ct)], { shape });
  switch (attrs.kind) {
    case "sum":
      return [stretched];
    case "mean": {
      const reduced = shape.filter((_, i) => axes.includes(i));
      return [g.div([stretched, sizeValue(g, reduced, plainDType(g.typeOf(x).dtype, "reduce"))])];
    }
    case "max":
    case "min": {
      // Elements that reach the extreme share the cotangent equally.
      const [y] = outputs;
      const [one, zero] = [filledLike(g, x, 1), filledLike(g, x, 0)];
      const reached = g.where([g.compare([x, spread(y ?? ct)], { op: "eq" }), one, zero]);
      const count = g.reduce([reached], { kind: "sum", axes, keepDims: true });
      return [g.div([g.mul([stretched, reached]), count])];
    }
    case "prod":
      return [g.mul([stretched, productOfOthers(g, x, axes)])];
  }
}

/**
 * For each element the product of the others along the axes. Made of products alone, so that its
 * own gradients hold, too.
 */
function productOfOthers(g: OpBuilder, x: Value, axes: readonly number[]): Value {
  const { shape } = g.typeOf(x);
  const perm = [...shape.keys()].sort((a, b) => Number(axes.includes(a)) - Number(axes.includes(b)) || a - b);
  const lines = [
    ...shape.flatMap((dim, i) => (axes.includes(i) ? [] : [dim])),
    productOf(axes.map((i) => shape[i] ?? 1)),
  ];
  const others = othersOfLine(g, g.reshape([g.transpose([x], { perm })], { shape: lines }));
  const apart = g.reshape([others], { shape: perm.map((i) => shape[i] ?? 1) });
  return g.transpose([apart], { perm: shape.map((_, i) => perm.indexOf(i)) });
}

/** The same along the last axis: halves multiply each other, down to one element. */
function othersOfLine(g: OpBuilder, x: Value): Value {
  const { shape } = g.typeOf(x);
  const axis = shape.length - 1;
  const size = shape[axis] ?? 1;
  if (typeof size !== "number") return othersOfUnknown(g, x, size);
  if (size <= 1) return filledLike(g, x, 1);
  const [half, rest] = [Math.ceil(size / 2), Math.floor(size / 2)];
  const left = g.narrow([x], { axis, start: 0, length: half });
  const right = g.narrow([x], { axis, start: half, length: rest });
  const one = g.expand([scalarLike(g, x, 1)], { shape: [...shape.slice(0, -1), half - rest] });
  const padded = half === rest ? right : g.concat([right, one], { axis });
  const above = othersOfLine(g, g.mul([left, padded]));
  const others = g.concat([g.mul([above, padded]), g.mul([above, left])], { axis });
  return g.narrow([others], { axis, start: 0, length: size });
}

/** Of a length that only the run knows, each line is written out once per element, with 1 in its place. */
function othersOfUnknown(g: OpBuilder, x: Value, size: Dim): Value {
  const { shape } = g.typeOf(x);
  const column = g.iota([], { shape: [size, 1], axis: 0 });
  const own = g.compare([column, g.iota([], { shape: [size], axis: 0 })], { op: "eq" });
  const copies = g.expand([g.reshape([x], { shape: [...shape.slice(0, -1), 1, size] })], {
    shape: [...shape.slice(0, -1), size, size],
  });
  return g.reduce([g.where([own, scalarLike(g, x, 1), copies])], { kind: "prod", axes: [shape.length] });
}

const WRAPPING: readonly { readonly kind: ReduceKind; readonly dtype: DType; readonly data: readonly number[] }[] = [
  { kind: "sum", dtype: "i8", data: [100, 127, 5, -128, -1, -1] },
  { kind: "sum", dtype: "u8", data: [200, 100, 5, 1, 2, 3] },
  { kind: "sum", dtype: "i16", data: [32767, 1, -5, -32768, -1, 7] },
  { kind: "sum", dtype: "u32", data: [4294967295, 2, 3, 1, 2, 3] },
  { kind: "sum", dtype: "i32", data: [2147483647, 1, 5, -2147483648, -1, 0] },
  { kind: "sum", dtype: "i64", data: [2 ** 62, 2 ** 62, 0, -7, 2, 1] },
  { kind: "prod", dtype: "u8", data: [16, 17, 3, 5, 5, 5] },
  { kind: "prod", dtype: "i32", data: [123456789, 987654321, 3, -7, 5, 65536] },
  { kind: "prod", dtype: "i64", data: [2 ** 32, 2 ** 31, 1, -7, 5, 3] },
];

export const reduce: Op<"reduce", ReduceAttrs, 1> = defineOp({
  name: "reduce",
  summary: "Sum, mean, largest, smallest or product over the given axes.",
  arity: 1,
  operands: ["x"],
  outputs: "one",
  attributes: {
    kind: attr.oneOf(["sum", "mean", "max", "min", "prod"]),
    axes: attr.ints(),
    keepDims: attr.optional(attr.bool()),
  },
  infer: ([x]: readonly [TensorType], attrs) => {
    const dtype = plainDType(x.dtype, "reduce");
    if (!isFloat(dtype) && !(isInteger(dtype) && attrs.kind !== "mean"))
      throw new WorkbenchError(
        "IR_TYPE",
        `[reduce] ${attrs.kind} takes ${attrs.kind === "mean" ? "floats" : "numbers"}, got ${dtype}`,
        { hint: "Insert a cast." },
      );
    const axes = axesOf(attrs, x.shape.length);
    const kept = x.shape.filter((_, i) => !axes.includes(i));
    const isExtreme = attrs.kind === "max" || attrs.kind === "min";
    if (isExtreme && axes.some((axis) => x.shape[axis] === 0) && !kept.includes(0))
      throw new WorkbenchError("IR_SHAPE", `[reduce] the ${attrs.kind} of no elements: got ${formatType(x)}`, {
        hint: "An empty axis has a sum, a mean and a product, and no largest or smallest element.",
      });
    const shape = attrs.keepDims === true ? x.shape.map((dim, i) => (axes.includes(i) ? 1 : dim)) : kept;
    return tensor(dtype, shape);
  },
  reference: ([x], attrs) => {
    const axes = axesOf(attrs, x.shape.length);
    const [start, f] = FOLD[attrs.kind];
    let { data } = x;
    let shape = [...x.shape];
    for (const axis of axes) {
      data = reduceAxis(data, shape, axis, start, (a, b) => f(a, b, x.dtype));
      shape = shape.map((dim, i) => (i === axis ? 1 : dim));
    }
    const count = sizeOf(axes.map((axis) => at(x.shape, axis)));
    if (attrs.kind === "mean") data = data.map((v) => v / count);
    const kept = attrs.keepDims === true ? shape : shape.filter((_, i) => !axes.includes(i));
    return hostTensor(x.dtype, kept, data);
  },
  oracle: {
    numpy:
      'x0 if not a["axes"] else getattr(np, a["kind"])(x0, axis=tuple(a["axes"]), keepdims=a.get("keepDims", False)).astype(x0.dtype)',
  },
  gradient: { kind: "vjp", rule: gradient },
  batching: {
    kind: "rule",
    rule: ({ g, inputs: [x], attrs, node }) => {
      const rank = rankOf(node);
      return g.reduce([x], { ...attrs, axes: axesOf(attrs, rank).map((axis) => axis + 1) });
    },
  },
  traits: ["pure", "reduction"],
  backends: {
    cpu: cpuKernel((attrs) => named(attrs.kind), {
      takes: NUMBERS,
      params: (attrs, node) => ({ axes: axesOf(attrs, rankOf(node)) }),
    }),
    coreml: milNative(
      (e, [x], attrs, node) => {
        const axes = axesOf(attrs, rankOf(node));
        if (axes.length === 0) return e.op("identity", { x });
        return e.op(named(attrs.kind), { x, axes, keep_dims: attrs.keepDims === true });
      },
      (node) => (node.attrs.kind === "max" || node.attrs.kind === "min" ? true : wrapsAsInt32(node)),
    ),
    mlx: mlxCall(({ kind }) => kind, {
      takes: "numbers",
      attrs: (attrs, node) => ({ axes: axesOf(attrs, rankOf(node)) }),
    }),
  },
  samples: withDoubles([
    sample("sum of a middle axis, odd sizes", [normal(1, [3, 5, 7])], { kind: "sum", axes: [1] }),
    sample(
      "mean, kept, symbolic",
      [normal(2, ["T", 5])],
      { kind: "mean", axes: [-1], keepDims: true },
      { bindings: { T: 3 } },
    ),
    sample("mean over a symbolic axis", [normal(3, ["T", 4])], { kind: "mean", axes: [0] }, { bindings: { T: 5 } }),
    sample("max of all axes", [normal(4, [4, 3])], { kind: "max", axes: [0, 1] }),
    sample("max with ties", [values([2, 1, 2, 0], [4])], { kind: "max", axes: [0] }, { differentiable: false }),
    sample("min, outer axis", [normal(5, [5, 3])], { kind: "min", axes: [0], keepDims: true }),
    sample("product", [uniform(6, [3, 4], 0.5, 2)], { kind: "prod", axes: [1] }),
    sample("product with zeros", [values([2, 0, 3, 1, 0, 0, 4, 5, 6], [3, 3])], { kind: "prod", axes: [1] }),
    sample(
      "product of a symbolic axis, with a zero",
      [values([2, 0, 3, 4, 5, -6], ["T", 2])],
      { kind: "prod", axes: [0] },
      { bindings: { T: 3 } },
    ),
    sample("product of the outer axes of three", [uniform(12, [3, 2, 5], 0.5, 2)], { kind: "prod", axes: [2, 0] }),
    sample("sum of whole numbers", [integers(7, [3, 4], -9, 9)], { kind: "sum", axes: [0] }),
    ...WRAPPING.map(({ kind, dtype, data }): Sample<ReduceAttrs> =>
      sample(`${kind} that wraps, ${dtype}`, [values(data, [2, data.length / 2], dtype)], { kind, axes: [1] }),
    ),
    sample("largest of bytes", [integers(9, [3, 5], -128, 127, "i8")], { kind: "max", axes: [1] }),
    sample("least of u8", [integers(10, [3, 5], 0, 255, "u8")], { kind: "min", axes: [0, 1] }),
    sample("sums of nothing", [values([], [2, 0])], { kind: "sum", axes: [1] }),
    sample("products of nothing", [values([], [0, 3])], { kind: "prod", axes: [0] }),
    sample("no largest elements", [values([], [0, 3])], { kind: "max", axes: [1] }),
    sample(
      "NaN is the largest",
      [values([1, NaN, Infinity, 2, 3, -Infinity], [2, 3])],
      { kind: "max", axes: [1] },
      { differentiable: false },
    ),
    sample(
      "NaN is the smallest",
      [values([1, NaN, -Infinity, 2, 3, Infinity], [2, 3])],
      { kind: "min", axes: [1] },
      { differentiable: false },
    ),
    sample("no axes: a copy", [normal(8, [3])], { kind: "sum", axes: [] }),
  ]),
});
