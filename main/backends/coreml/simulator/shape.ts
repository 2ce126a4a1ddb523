/** Operators that move elements: reshape, transpose, slices, joins, gather and scatter. */
import { sliceAxes } from "../mil/slices.ts";
import { elementCount } from "../mil/types.ts";
import type { Arguments, Kernel } from "./kernel.ts";
import { axisWalk } from "./reduce.ts";
import type { SimTensor } from "./tensor.ts";
import { allocate, offsets, pick, simError, simTensor, strides } from "./tensor.ts";

const declared = (a: Arguments, output = 0): number[] =>
  (a.outputs[output]?.shape ?? []).map((d) => d ?? simError(a.type, "a size that is only known at run time"));

/** The shape of a reshape and its kind; sizes that are only known now follow from its arguments. */
function relabelled(a: Arguments, x: SimTensor): number[] {
  const shape = a.outputs[0]?.shape ?? [];
  if (!shape.includes(null)) return declared(a);
  if (a.type === "reshape") {
    const wanted = a.numbers("shape");
    const rest = wanted.reduce((product, d) => (d === -1 ? product : product * d), 1);
    return wanted.map((d) => (d === -1 ? x.data.length / rest : d));
  }
  const axes = (a.has("axes") ? a.numbers("axes") : []).map((axis) =>
    axis < 0 ? axis + Math.max(shape.length, x.shape.length) : axis,
  );
  if (a.type === "squeeze") return x.shape.filter((_, i) => !axes.includes(i));
  const sizes = [...x.shape];
  return shape.map((_, i) => (axes.includes(i) ? 1 : (sizes.shift() ?? 1)));
}

/** The same elements under another shape. */
const relabel: Kernel = (a) => {
  const x = a.tensor("x");
  const shape = relabelled(a, x);
  if (elementCount(shape) !== x.data.length) simError(a.type, `[${x.shape.join()}] cannot become [${shape.join()}]`);
  return { dtype: x.dtype, shape, data: x.data };
};

const transpose: Kernel = (a) => {
  const x = a.tensor("x");
  const step = strides(x.shape);
  const perm = a.numbers("perm").map((p) => (p < 0 ? p + x.shape.length : p));
  const shape = perm.map((p) => x.shape[p] ?? 1);
  return pick(
    x,
    shape,
    offsets(
      shape,
      perm.map((p) => step[p] ?? 0),
    ),
  );
};

const concat: Kernel = (a) => {
  const values = a.list("values");
  const first = values[0] ?? simError(a.type, "no values");
  if (a.flag("interleave")) simError(a.type, "interleave is not simulated");
  const axis = a.axis("axis", first.shape.length);
  const shape = first.shape.map((d, i) => (i === axis ? values.reduce((s, v) => s + (v.shape[axis] ?? 0), 0) : d));
  const { outer, size, inner } = axisWalk(shape, axis);
  const data = allocate(first.dtype, elementCount(shape));
  let done = 0;
  for (const v of values) {
    const run = (v.shape[axis] ?? 0) * inner;
    for (let o = 0; o < outer; o++) data.set(v.data.subarray(o * run, (o + 1) * run), o * size * inner + done);
    done += run;
  }
  return { dtype: first.dtype, shape, data };
};

const stack: Kernel = (a) => {
  const values = a.list("values");
  const first = values[0] ?? simError(a.type, "no values");
  const axis = a.axis("axis", first.shape.length + 1);
  const shape = [...first.shape.slice(0, axis), values.length, ...first.shape.slice(axis)];
  const inner = elementCount(first.shape.slice(axis));
  const data = allocate(first.dtype, elementCount(shape));
  values.forEach((v, i) => {
    for (let o = 0; o * inner < v.data.length; o++)
      data.set(v.data.subarray(o * inner, (o + 1) * inner), (o * values.length + i) * inner);
  });
  return { dtype: first.dtype, shape, data };
};

const split: Kernel = (a) => {
  const x = a.tensor("x");
  const axis = a.axis("axis", x.shape.length);
  const step = strides(x.shape);
  let from = 0;
  const equal = (x.shape[axis] ?? 0) / a.outputs.length;
  const cuts = a.has("split_sizes") ? a.numbers("split_sizes") : a.outputs.map(() => equal);
  return a.outputs.map((_, i) => {
    const shape = x.shape.map((d, at) => (at === axis ? (cuts[i] ?? 0) : d));
    const at = offsets(shape, step, from * (step[axis] ?? 1));
    from += shape[axis] ?? 0;
    return pick(x, shape, at);
  });
};

const masks = (
  a: Arguments,
): { readonly [K in "stride" | "beginMask" | "endMask" | "squeezeMask"]?: readonly number[] } => ({
  ...(a.has("stride") ? { stride: a.numbers("stride") } : {}),
  ...(a.has("begin_mask") ? { beginMask: a.numbers("begin_mask") } : {}),
  ...(a.has("end_mask") ? { endMask: a.numbers("end_mask") } : {}),
  ...(a.has("squeeze_mask") ? { squeezeMask: a.numbers("squeeze_mask") } : {}),
});

/** Offsets of a slice inside x, and its shape. */
function sliceOf(a: Arguments, x: SimTensor): { readonly at: Int32Array; readonly shape: number[] } {
  const axes = sliceAxes(x.shape, { begin: a.numbers("begin"), end: a.numbers("end"), ...masks(a) });
  const step = strides(x.shape);
  const start = axes.reduce((sum, s, i) => sum + s.begin * (step[i] ?? 0), 0);
  return {
    at: offsets(
      axes.map((s) => s.count),
      axes.map((s, i) => s.stride * (step[i] ?? 0)),
      start,
    ),
    shape: axes.filter((s) => !s.squeeze).map((s) => s.count),
  };
}

const sliceByIndex: Kernel = (a) => {
  const x = a.tensor("x");
  const { at, shape } = sliceOf(a, x);
  return pick(x, shape, at);
};

const sliceBySize: Kernel = (a) => {
  const x = a.tensor("x");
  const begin = a.numbers("begin");
  const shape = a.numbers("size").map((n, i) => (n === -1 ? (x.shape[i] ?? 0) - (begin[i] ?? 0) : n));
  shape.forEach((n, i) => {
    if ((begin[i] ?? 0) < 0 || (begin[i] ?? 0) + n > (x.shape[i] ?? 0))
      simError(a.type, `begin ${begin.join()} size ${shape.join()} is outside [${x.shape.join()}]`);
  });
  const step = strides(x.shape);
  return pick(
    x,
    shape,
    offsets(
      shape,
      step,
      begin.reduce((sum, b, i) => sum + b * (step[i] ?? 0), 0),
    ),
  );
};

const sliceUpdate: Kernel = (a) => {
  const [x, update] = [a.tensor("x"), a.tensor("update")];
  const { at } = sliceOf(a, x);
  if (at.length !== update.data.length)
    simError(a.type, `the slice has ${at.length} elements, the update ${update.data.length}`);
  const data = x.data.slice();
  for (let i = 0; i < at.length; i++) data[at[i] as number] = update.data[i] as number;
  return { dtype: x.dtype, shape: x.shape, data };
};

const tile: Kernel = (a) => {
  const x = a.tensor("x");
  const shape = x.shape.map((d, i) => d * (a.numbers("reps")[i] ?? 1));
  return pick(x, shape, wrapped(x.shape, shape));
};

/** For each place of `shape` the offset of the same place modulo the source's sizes. */
function wrapped(source: readonly number[], shape: readonly number[]): Int32Array {
  const [own, step] = [strides(source), strides(shape)];
  return Int32Array.from({ length: elementCount(shape) }, (_, i) =>
    shape.reduce(
      (at, d, axis) => at + ((Math.floor(i / (step[axis] ?? 1)) % d) % (source[axis] ?? 1)) * (own[axis] ?? 0),
      0,
    ),
  );
}

const pad: Kernel = (a) => {
  const x = a.tensor("x");
  const [pads, mode] = [a.numbers("pad"), a.text("mode")];
  const first = x.shape.length - pads.length / 2;
  const before = x.shape.map((_, i) => (i < first ? 0 : (pads[2 * (i - first)] ?? 0)));
  const shape = declared(a);
  const [own, step] = [strides(x.shape), strides(shape)];
  const fill = mode === "constant" ? a.number("constant_val") : 0;
  const data = allocate(x.dtype, elementCount(shape));
  for (let i = 0; i < data.length; i++) {
    let at = 0;
    for (let d = 0; d < shape.length; d++) {
      const size = x.shape[d] ?? 1;
      let p = (Math.floor(i / (step[d] ?? 1)) % (shape[d] ?? 1)) - (before[d] ?? 0);
      if (mode === "reflect") p = p < 0 ? -p : p >= size ? 2 * size - 2 - p : p;
      else if (mode === "replicate") p = Math.min(Math.max(p, 0), size - 1);
      at = at < 0 || p < 0 || p >= size ? -1 : at + p * (own[d] ?? 0);
    }
    data[i] = at < 0 ? fill : (x.data[at] as number);
  }
  return simTensor(x.dtype, shape, data);
};

const reverse: Kernel = (a) => {
  const x = a.tensor("x");
  const axes = new Set(
    (a.has("axes") ? a.numbers("axes") : x.shape.map((_, i) => i)).map((d) => (d < 0 ? d + x.shape.length : d)),
  );
  const step = strides(x.shape);
  const start = x.shape.reduce((sum, d, i) => sum + (axes.has(i) ? (d - 1) * (step[i] ?? 0) : 0), 0);
  return pick(
    x,
    x.shape,
    offsets(
      x.shape,
      step.map((s, i) => (axes.has(i) ? -s : s)),
      start,
    ),
  );
};

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
function alongAxis(a: Arguments, x: SimTensor, indices: SimTensor): Int32Array {
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
  x: SimTensor,
  indices: SimTensor,
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
function scattered(a: Arguments, at: Int32Array): SimTensor {
  const [data, updates] = [a.tensor("data"), a.tensor("updates")];
  const mode = MODES[a.text("mode")] ?? simError(a.type, `mode ${a.text("mode")}`);
  const out = Float64Array.from(data.data);
  for (let i = 0; i < at.length; i++)
    out[at[i] as number] = mode(out[at[i] as number] as number, updates.data[i] as number);
  return simTensor(a.dtype, data.shape, out);
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
  return simTensor(a.dtype, shape, out);
};

const upsample: Kernel = (a) => {
  const x = a.tensor("x");
  const shape = declared(a);
  const factors = shape.map((d, i) => d / (x.shape[i] ?? 1));
  const [own, step] = [strides(x.shape), strides(shape)];
  const at = Int32Array.from({ length: elementCount(shape) }, (_, i) =>
    shape.reduce(
      (sum, d, axis) =>
        sum + Math.floor((Math.floor(i / (step[axis] ?? 1)) % d) / (factors[axis] ?? 1)) * (own[axis] ?? 0),
      0,
    ),
  );
  return pick(x, shape, at);
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

const filled: Kernel = (a) =>
  simTensor(a.dtype, declared(a), allocate(a.dtype, elementCount(declared(a))).fill(a.number("value")));

const range1d: Kernel = (a) => {
  const [start, step] = [a.number("start"), a.number("step")];
  return simTensor(
    a.dtype,
    declared(a),
    Float64Array.from({ length: elementCount(declared(a)) }, (_, i) => start + i * step),
  );
};

export const SHAPE: Readonly<Record<string, Kernel>> = {
  reshape: relabel,
  expand_dims: relabel,
  squeeze: relabel,
  transpose,
  concat,
  stack,
  split,
  slice_by_index: sliceByIndex,
  slice_by_size: sliceBySize,
  slice_update: sliceUpdate,
  tile,
  pad,
  reverse,
  gather,
  gather_along_axis: gatherAlongAxis,
  gather_nd: gatherNd,
  scatter,
  scatter_along_axis: (a) => scattered(a, alongAxis(a, a.tensor("data"), a.tensor("indices"))),
  scatter_nd: scatterNd,
  one_hot: oneHot,
  upsample_nearest_neighbor: upsample,
  band_part: bandPart,
  fill: filled,
  fill_like: filled,
  range_1d: range1d,
  shape: (a) => simTensor("int32", [a.tensor("x").shape.length], a.tensor("x").shape),
};
