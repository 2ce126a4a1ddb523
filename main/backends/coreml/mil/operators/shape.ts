/** Operators that change shapes and join: reshape, transpose, concat, split, tile, pad, reverse, scaling up; and filled ones. */
import { elementCount } from "../types.ts";
import type { Arguments, Kernel } from "../../simulator/kernel.ts";
import { declared } from "../../simulator/kernel.ts";
import { axisWalk } from "./reduce.ts";
import type { PackageTensor } from "../../package/packageTensor.ts";
import { allocate, packageTensor } from "../../package/packageTensor.ts";
import { offsets, pick, simError, strides } from "../../simulator/tensor.ts";
import type { MilDim } from "../types.ts";
import { tensorType } from "../types.ts";
import type { Infer, Operators } from "./operator.ts";
import { same } from "./operator.ts";

/** The shape of a reshape and its kind; sizes that are only known now follow from its arguments. */
function relabelled(a: Arguments, x: PackageTensor): number[] {
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
  return packageTensor(x.dtype, shape, data);
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

const filled: Kernel = (a) =>
  packageTensor(a.dtype, declared(a), allocate(a.dtype, elementCount(declared(a))).fill(a.number("value")));

const range1d: Kernel = (a) => {
  const [start, step] = [a.number("start"), a.number("step")];
  return packageTensor(
    a.dtype,
    declared(a),
    Float64Array.from({ length: elementCount(declared(a)) }, (_, i) => start + i * step),
  );
};

// Types of the results.

const reshapeType: Infer = (a) => {
  const x = a.tensor("x");
  const wanted = a.numbers("shape");
  const fixed = wanted.filter((d) => d !== -1).reduce((p, d) => p * d, 1);
  const total = x.shape.reduce<MilDim>((p, d) => (p === null || d === null ? null : p * d), 1);
  const shape = wanted.map((d): MilDim => (d === -1 ? (total === null ? null : total / fixed) : d));
  const product = shape.reduce<MilDim>((p, d) => (p === null || d === null ? null : p * d), 1);
  if (wanted.filter((d) => d === -1).length > 1 || (total !== null && product !== total))
    a.fail(`[${x.shape.join()}] cannot become [${wanted.join()}]`);
  return [tensorType(x.dtype, shape)];
};

const expandDimsType: Infer = (a) => {
  const x = a.tensor("x");
  const axes = a.numbers("axes");
  const rank = x.shape.length + axes.length;
  const added = new Set(axes.map((axis) => a.normal(axis, rank)));
  const rest = [...x.shape];
  return [
    tensorType(
      x.dtype,
      Array.from({ length: rank }, (_, i) => (added.has(i) ? 1 : (rest.shift() ?? null))),
    ),
  ];
};

const squeezeType: Infer = (a) => {
  const x = a.tensor("x");
  const axes = new Set(
    (a.optionalNumbers("axes") ?? x.shape.flatMap((d, i) => (d === 1 ? [i] : []))).map((n) =>
      a.normal(n, x.shape.length),
    ),
  );
  for (const axis of axes) if (x.shape[axis] !== 1) a.fail(`dimension ${axis} of [${x.shape.join()}] is not 1`);
  return [
    tensorType(
      x.dtype,
      x.shape.filter((_, i) => !axes.has(i)),
    ),
  ];
};

const transposeType: Infer = (a) => {
  const x = a.tensor("x");
  const perm = a.numbers("perm").map((p) => a.normal(p, x.shape.length));
  if (new Set(perm).size !== x.shape.length) a.fail(`perm ${perm.join()} is not a permutation`);
  return [
    tensorType(
      x.dtype,
      perm.map((p) => x.shape[p] ?? null),
    ),
  ];
};

const concatType: Infer = (a) => {
  const values = a.list("values");
  const [first] = values;
  if (first === undefined) return a.fail("no values");
  const axis = a.axis("axis", first.shape.length);
  for (const v of values)
    if (
      v.dtype !== first.dtype ||
      v.shape.length !== first.shape.length ||
      v.shape.some((d, i) => i !== axis && d !== first.shape[i])
    )
      a.fail(`values do not line up: [${values.map((t) => `${t.dtype}[${t.shape.join()}]`).join(" ")}]`);
  const total = values.reduce<MilDim>((sum, v) => {
    const d = v.shape[axis] ?? null;
    return sum === null || d === null ? null : sum + d;
  }, 0);
  return [
    tensorType(
      first.dtype,
      first.shape.map((d, i) => (i === axis ? total : d)),
    ),
  ];
};

const stackType: Infer = (a) => {
  const values = a.list("values");
  const [first] = values;
  if (first === undefined) return a.fail("no values");
  const axis = a.axis("axis", first.shape.length + 1);
  return [tensorType(first.dtype, [...first.shape.slice(0, axis), values.length, ...first.shape.slice(axis)])];
};

const splitTypes: Infer = (a) => {
  const x = a.tensor("x");
  const axis = a.axis("axis", x.shape.length);
  const whole = x.shape[axis];
  if (typeof whole !== "number") return a.fail("the split dimension must be fixed");
  const parts = a.has("num_splits") ? a.number("num_splits") : 0;
  const sizes = a.optionalNumbers("split_sizes") ?? new Array<number>(parts).fill(whole / parts);
  if (sizes.reduce((s, n) => s + n, 0) !== whole) a.fail(`sizes ${sizes.join()} do not add up to ${whole}`);
  return sizes.map((size) =>
    tensorType(
      x.dtype,
      x.shape.map((d, i) => (i === axis ? size : d)),
    ),
  );
};

const padType: Infer = (a) => {
  const x = a.tensor("x");
  const pads = a.numbers("pad");
  const first = x.shape.length - pads.length / 2;
  return [
    tensorType(
      x.dtype,
      x.shape.map((d, i) =>
        d === null || i < first ? d : d + (pads[2 * (i - first)] ?? 0) + (pads[2 * (i - first) + 1] ?? 0),
      ),
    ),
  ];
};

const upsampleType: Infer = (a) => {
  const x = a.tensor("x");
  const factors = [a.number("scale_factor_height"), a.number("scale_factor_width")];
  const first = x.shape.length - 2;
  return [
    tensorType(
      x.dtype,
      x.shape.map((d, i) => (d === null || i < first ? d : d * (factors[i - first] ?? 1))),
    ),
  ];
};

const rangeType: Infer = (a) => {
  const [start, end, step] = [a.number("start"), a.number("end"), a.number("step")];
  return [tensorType(a.tensor("end").dtype, [Math.max(0, Math.ceil((end - start) / step))])];
};

export const SHAPE: Operators = {
  reshape: { infer: reshapeType, run: relabel, free: true },
  expand_dims: { infer: expandDimsType, run: relabel, free: true },
  squeeze: { infer: squeezeType, run: relabel, free: true },
  transpose: { infer: transposeType, run: transpose },
  concat: { infer: concatType, run: concat },
  stack: { infer: stackType, run: stack },
  split: { infer: splitTypes, run: split },
  tile: {
    infer: (a) => {
      const x = a.tensor("x");
      return [
        tensorType(
          x.dtype,
          x.shape.map((d, i) => (d === null ? null : d * (a.numbers("reps")[i] ?? 1))),
        ),
      ];
    },
    run: tile,
  },
  pad: { infer: padType, run: pad },
  reverse: { infer: same, run: reverse },
  upsample_nearest_neighbor: { infer: upsampleType, run: upsample },
  fill: { infer: (a) => [tensorType(a.tensor("value").dtype, a.numbers("shape"))], run: filled },
  fill_like: { infer: (a) => [tensorType(a.tensor("value").dtype, a.tensor("ref_tensor").shape)], run: filled },
  range_1d: { infer: rangeType, run: range1d },
  shape: {
    infer: (a) => [tensorType("int32", [a.tensor("x").shape.length])],
    run: (a) => packageTensor("int32", [a.tensor("x").shape.length], a.tensor("x").shape),
  },
  read_state: { infer: (a) => [a.tensor("input")], free: true },
};
