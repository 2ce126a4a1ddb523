/** Operators that go by indices: gather, scatter, one-hot, bands. */
import { elementCount } from "../types.ts";
import type { Arguments, Kernel } from "../../simulator/kernel.ts";
import { declared } from "../../simulator/kernel.ts";
import { axisWalk } from "./reduce.ts";
import type { PackageTensor } from "../../package/packageTensor.ts";
import { allocate, packageTensor } from "../../package/packageTensor.ts";
import { pick, simError, strides } from "../../simulator/tensor.ts";
import { tensorType } from "../types.ts";
import type { Infer, Operators } from "./operator.ts";
import { each, same } from "./operator.ts";

function indexIn(a: Arguments, index: number, size: number): number {
  const at = index < 0 ? index + size : index;
  return at >= 0 && at < size ? at : simError(a.type, `index ${index} is outside 0..${size - 1}`);
}

const gather: Kernel = (a) => {
  const [x, indices] = [a.tensor("x"), a.tensor("indices")];
  if (a.has("batch_dims") && a.number("batch_dims") !== 0) simError(a.type, "batch_dims is not simulated");
  const axis = a.axis("axis", x.shape.length);
  const { outer, size, inner } = axisWalk(x.shape, axis);
  const shape = [...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)];
  const data = allocate(x.dtype, elementCount(shape));
  let to = 0;
  for (let o = 0; o < outer; o++)
    for (let i = 0; i < indices.data.length; i++, to += inner) {
      const from = (o * size + indexIn(a, indices.data[i] as number, size)) * inner;
      data.set(x.data.subarray(from, from + inner), to);
    }
  return { dtype: x.dtype, shape, data };
};

const gatherAlongAxis: Kernel = (a) => {
  const [x, indices] = [a.tensor("x"), a.tensor("indices")];
  return pick(x, indices.shape, alongAxis(a, x, indices));
};

/** Offsets in x of (place, but `indices` along the axis). */
function alongAxis(a: Arguments, x: PackageTensor, indices: PackageTensor): Int32Array {
  const axis = a.axis("axis", x.shape.length);
  const [own, step] = [strides(x.shape), strides(indices.shape)];
  return Int32Array.from(indices.data, (index, i) =>
    x.shape.reduce(
      (at, size, d) =>
        at +
        (d === axis ? indexIn(a, index, size) : Math.floor(i / (step[d] ?? 1)) % (indices.shape[d] ?? 1)) *
          (own[d] ?? 0),
      0,
    ),
  );
}

/** Start offsets of the slices that `indices` names (its last dimension indexes the leading ones of x). */
function sliceStarts(
  a: Arguments,
  x: PackageTensor,
  indices: PackageTensor,
): { readonly starts: Int32Array; readonly inner: number } {
  if (a.has("batch_dims") && a.number("batch_dims") !== 0) simError(a.type, "batch_dims is not simulated");
  const depth = indices.shape.at(-1) ?? 1;
  const own = strides(x.shape);
  const starts = Int32Array.from({ length: indices.data.length / depth }, (_, i) => {
    let at = 0;
    for (let d = 0; d < depth; d++)
      at += indexIn(a, indices.data[i * depth + d] as number, x.shape[d] ?? 1) * (own[d] ?? 0);
    return at;
  });
  return { starts, inner: elementCount(x.shape.slice(depth)) };
}

const gatherNd: Kernel = (a) => {
  const [x, indices] = [a.tensor("x"), a.tensor("indices")];
  const { starts, inner } = sliceStarts(a, x, indices);
  const data = allocate(x.dtype, starts.length * inner);
  starts.forEach((from, i) => data.set(x.data.subarray(from, from + inner), i * inner));
  return { dtype: x.dtype, shape: declared(a), data };
};

const MODES: Readonly<Record<string, (old: number, v: number) => number>> = {
  update: (_old, v) => v,
  add: (old, v) => old + v,
  sub: (old, v) => old - v,
  mul: (old, v) => old * v,
  div: (old, v) => old / v,
  max: Math.max,
  min: Math.min,
};

/** Applies updates to a copy of `data` at the offsets, in order. */
function scattered(a: Arguments, at: Int32Array): PackageTensor {
  const [data, updates] = [a.tensor("data"), a.tensor("updates")];
  const mode = MODES[a.text("mode")] ?? simError(a.type, `mode ${a.text("mode")}`);
  const out = Float64Array.from(data.data);
  for (let i = 0; i < at.length; i++)
    out[at[i] as number] = mode(out[at[i] as number] as number, updates.data[i] as number);
  return packageTensor(a.dtype, data.shape, out);
}

const scatter: Kernel = (a) => {
  const [data, indices] = [a.tensor("data"), a.tensor("indices")];
  const { outer, size, inner } = axisWalk(data.shape, a.axis("axis", data.shape.length));
  const at = new Int32Array(outer * indices.data.length * inner);
  let n = 0;
  for (let o = 0; o < outer; o++)
    for (const index of indices.data)
      for (let i = 0; i < inner; i++) at[n++] = (o * size + indexIn(a, index, size)) * inner + i;
  return scattered(a, at);
};

const scatterNd: Kernel = (a) => {
  const { starts, inner } = sliceStarts(a, a.tensor("data"), a.tensor("indices"));
  return scattered(
    a,
    Int32Array.from(
      { length: starts.length * inner },
      (_, i) => (starts[Math.floor(i / inner)] as number) + (i % inner),
    ),
  );
};

const oneHot: Kernel = (a) => {
  const indices = a.tensor("indices");
  const shape = declared(a);
  const { inner } = axisWalk(shape, a.axis("axis", shape.length));
  const size = a.number("one_hot_vector_size");
  const out = allocate(a.dtype, elementCount(shape)).fill(a.number("off_value"));
  indices.data.forEach((index: number, i: number) => {
    if (index >= 0 && index < size)
      out[(Math.floor(i / inner) * size + index) * inner + (i % inner)] = a.number("on_value");
  });
  return packageTensor(a.dtype, shape, out);
};

const bandPart: Kernel = (a) => {
  const x = a.tensor("x");
  const [rows = 1, columns = 1] = x.shape.slice(-2);
  const [lower, upper] = [a.number("lower"), a.number("upper")];
  const data = x.data.slice();
  for (let i = 0; i < data.length; i++) {
    const [r, c] = [Math.floor(i / columns) % rows, i % columns];
    if ((lower >= 0 && r - c > lower) || (upper >= 0 && c - r > upper)) data[i] = 0;
  }
  return { dtype: x.dtype, shape: x.shape, data };
};

// Types of the results.

const gatherType: Infer = (a) => {
  const [x, indices] = [a.tensor("x"), a.tensor("indices")];
  const axis = a.axis("axis", x.shape.length);
  const batch = a.has("batch_dims") ? a.number("batch_dims") : 0;
  return [tensorType(x.dtype, [...x.shape.slice(0, axis), ...indices.shape.slice(batch), ...x.shape.slice(axis + 1)])];
};

const gatherNdType: Infer = (a) => {
  const [x, indices] = [a.tensor("x"), a.tensor("indices")];
  const batch = a.has("batch_dims") ? a.number("batch_dims") : 0;
  const depth = indices.shape.at(-1);
  if (typeof depth !== "number") return a.fail("the last dimension of indices must be fixed");
  return [tensorType(x.dtype, [...indices.shape.slice(0, -1), ...x.shape.slice(batch + depth)])];
};

const oneHotType: Infer = (a) => {
  const indices = a.tensor("indices");
  const axis = a.axis("axis", indices.shape.length + 1);
  return [
    tensorType(a.tensor("on_value").dtype, [
      ...indices.shape.slice(0, axis),
      a.number("one_hot_vector_size"),
      ...indices.shape.slice(axis),
    ]),
  ];
};

const dataType: Infer = (a) => [a.tensor("data")];
const PICKS = { picks: true, flops: (out: number) => out } as const;

export const INDEXING: Operators = {
  gather: { infer: gatherType, run: gather, ...PICKS },
  gather_along_axis: {
    infer: (a) => [tensorType(a.tensor("x").dtype, a.tensor("indices").shape)],
    run: gatherAlongAxis,
    ...PICKS,
  },
  gather_nd: { infer: gatherNdType, run: gatherNd, ...PICKS },
  ...each(
    { infer: dataType },
    {
      scatter,
      scatter_along_axis: (a) => scattered(a, alongAxis(a, a.tensor("data"), a.tensor("indices"))),
      scatter_nd: scatterNd,
    },
  ),
  one_hot: { infer: oneHotType, run: oneHot },
  band_part: { infer: same, run: bandPart },
};
