/** Matrix products, attention, convolution and pooling. Sums are kept in double precision and rounded once. */
import { elementCount } from "../mil/types.ts";
import type { Arguments, Kernel } from "./kernel.ts";
import type { SimTensor } from "./tensor.ts";
import { broadcastShape, broadcastStrides, offsets, pick, simError, simTensor, strides } from "./tensor.ts";

/** rows × inner times (columns × inner) transposed, in four sums at a time. */
function rowsTimesRows(
  x: Float32Array | Int32Array,
  xAt: number,
  w: Float32Array | Int32Array,
  wAt: number,
  rows: number,
  columns: number,
  inner: number,
  out: Float64Array,
  outAt: number,
): void {
  for (let n = 0; n < columns; n++) {
    const base = wAt + n * inner;
    for (let m = 0; m < rows; m++) {
      const from = xAt + m * inner;
      let [s0, s1, s2, s3] = [0, 0, 0, 0];
      let k = 0;
      for (; k + 3 < inner; k += 4) {
        s0 += (x[from + k] as number) * (w[base + k] as number);
        s1 += (x[from + k + 1] as number) * (w[base + k + 1] as number);
        s2 += (x[from + k + 2] as number) * (w[base + k + 2] as number);
        s3 += (x[from + k + 3] as number) * (w[base + k + 3] as number);
      }
      for (; k < inner; k++) s0 += (x[from + k] as number) * (w[base + k] as number);
      out[outAt + m * columns + n] = s0 + s1 + s2 + s3;
    }
  }
}

const linear: Kernel = (a) => {
  const [x, weight, bias] = [a.tensor("x"), a.tensor("weight"), a.optional("bias")];
  const [columns = 0, inner = 0] = weight.shape;
  const rows = x.data.length / inner;
  const out = new Float64Array(rows * columns);
  rowsTimesRows(x.data, 0, weight.data, 0, rows, columns, inner, out, 0);
  if (bias !== undefined)
    for (let i = 0; i < out.length; i++) out[i] = (out[i] as number) + (bias.data[i % columns] ?? 0);
  return simTensor(a.dtype, [...x.shape.slice(0, -1), columns], out);
};

/** The last two axes swapped, so that products always run along rows. */
function swapped(x: SimTensor): SimTensor {
  const rank = x.shape.length;
  const step = strides(x.shape);
  const order = [...Array.from({ length: rank - 2 }, (_, i) => i), rank - 1, rank - 2];
  const shape = order.map((i) => x.shape[i] ?? 1);
  return pick(
    x,
    shape,
    offsets(
      shape,
      order.map((i) => step[i] ?? 0),
    ),
  );
}

/** x [.., M, K] · yᵀ with y [.., N, K]. */
function multiply(x: SimTensor, y: SimTensor): { readonly shape: number[]; readonly data: Float64Array } {
  const [m = 1, k = 1] = x.shape.slice(-2);
  const [n = 1, k2 = 1] = y.shape.slice(-2);
  if (k !== k2) simError("matmul", `[${x.shape.join()}] and [${y.shape.join()}] do not multiply`);
  const [xb, yb] = [x.shape.slice(0, -2), y.shape.slice(0, -2)];
  const batch = broadcastShape(xb, yb);
  const [xs, ys] = [offsets(batch, broadcastStrides(xb, batch)), offsets(batch, broadcastStrides(yb, batch))];
  const data = new Float64Array(xs.length * m * n);
  for (let b = 0; b < xs.length; b++)
    rowsTimesRows(x.data, (xs[b] as number) * m * k, y.data, (ys[b] as number) * n * k, m, n, k, data, b * m * n);
  return { shape: [...batch, m, n], data };
}

const matmul: Kernel = (a) => {
  const [x, y] = [a.tensor("x"), a.tensor("y")];
  const { shape, data } = multiply(a.flag("transpose_x") ? swapped(x) : x, a.flag("transpose_y") ? y : swapped(y));
  return simTensor(a.dtype, shape, data);
};

/** softmax(q·kᵀ/√E + mask)·v; a bool mask keeps where true. */
const scaledDotProductAttention: Kernel = (a) => {
  const [q, k, v, mask] = [a.tensor("query"), a.tensor("key"), a.tensor("value"), a.optional("attn_mask")];
  const scores = multiply(q, k);
  const keys = scores.shape.at(-1) ?? 1;
  const scale = 1 / Math.sqrt(q.shape.at(-1) ?? 1);
  const at = mask === undefined ? undefined : offsets(scores.shape, broadcastStrides(mask.shape, scores.shape));
  const p = new Float32Array(scores.data.length);
  for (let row = 0; row < p.length; row += keys) {
    let largest = -Infinity;
    for (let j = row; j < row + keys; j++) {
      const m = at === undefined || mask === undefined ? 0 : (mask.data[at[j] as number] as number);
      const add = mask?.dtype === "bool" ? (m !== 0 ? 0 : -Infinity) : m;
      p[j] = (scores.data[j] as number) * scale + add;
      largest = Math.max(largest, p[j] as number);
    }
    let total = 0;
    for (let j = row; j < row + keys; j++) total += p[j] = Math.exp((p[j] as number) - largest);
    for (let j = row; j < row + keys; j++) p[j] = (p[j] as number) / total;
  }
  const { shape, data } = multiply({ dtype: "fp32", shape: scores.shape, data: p }, swapped(v));
  return simTensor(a.dtype, shape, data);
};

/** Begin pads of each spatial axis for a pad type. */
function beginPads(
  a: Arguments,
  sizes: readonly number[],
  kernel: readonly number[],
  stride: readonly number[],
  dilation: readonly number[],
): number[] {
  const type = a.text("pad_type");
  return sizes.map((size, i) => {
    if (type === "custom") return a.numbers("pad")[2 * i] ?? 0;
    if (type === "valid") return 0;
    const s = stride[i] ?? 1;
    const total = Math.max(0, (Math.ceil(size / s) - 1) * s + ((kernel[i] ?? 1) - 1) * (dilation[i] ?? 1) + 1 - size);
    return type === "same" ? Math.floor(total / 2) : Math.ceil(total / 2);
  });
}

/** Every tap of a window: input offset, or -1 outside. Visits output positions in order. */
function windows(
  sizes: readonly number[],
  out: readonly number[],
  kernel: readonly number[],
  stride: readonly number[],
  dilation: readonly number[],
  pads: readonly number[],
): Int32Array {
  const taps = elementCount(kernel);
  const places = elementCount(out);
  const table = new Int32Array(places * taps).fill(-1);
  const [outStep, tapStep, inStep] = [strides(out), strides(kernel), strides(sizes)];
  for (let p = 0; p < places; p++)
    for (let t = 0; t < taps; t++) {
      let at = 0;
      for (let d = 0; d < sizes.length; d++) {
        const o = Math.floor(p / (outStep[d] ?? 1)) % (out[d] ?? 1);
        const k = Math.floor(t / (tapStep[d] ?? 1)) % (kernel[d] ?? 1);
        const i = o * (stride[d] ?? 1) + k * (dilation[d] ?? 1) - (pads[d] ?? 0);
        at = i < 0 || i >= (sizes[d] ?? 0) || at < 0 ? -1 : at + i * (inStep[d] ?? 1);
      }
      table[p * taps + t] = at;
    }
  return table;
}

const conv: Kernel = (a) => {
  const [x, w, bias] = [a.tensor("x"), a.tensor("weight"), a.optional("bias")];
  const [sizes, kernel] = [x.shape.slice(2), w.shape.slice(2)];
  const [stride, dilation, groups] = [a.numbers("strides"), a.numbers("dilations"), a.number("groups")];
  const shape = (a.outputs[0]?.shape ?? []).map(Number);
  const out = shape.slice(2);
  const table = windows(sizes, out, kernel, stride, dilation, beginPads(a, sizes, kernel, stride, dilation));
  const [plane, places, taps] = [elementCount(sizes), elementCount(out), elementCount(kernel)];
  const [channels = 1, filters = 1, perGroup = 1] = [x.shape[1], w.shape[0], w.shape[1]];
  const data = new Float64Array(elementCount(shape));
  for (let n = 0; n < (x.shape[0] ?? 1); n++)
    for (let f = 0; f < filters; f++) {
      const first = Math.floor(f / (filters / groups)) * perGroup;
      for (let p = 0; p < places; p++) {
        let total = bias?.data[f] ?? 0;
        for (let c = 0; c < perGroup; c++)
          for (let t = 0; t < taps; t++) {
            const at = table[p * taps + t] as number;
            if (at >= 0)
              total +=
                (x.data[(n * channels + first + c) * plane + at] as number) *
                (w.data[(f * perGroup + c) * taps + t] as number);
          }
        data[(n * filters + f) * places + p] = total;
      }
    }
  return simTensor(a.dtype, shape, data);
};

const pool =
  (average: boolean): Kernel =>
  (a) => {
    const x = a.tensor("x");
    const sizes = x.shape.slice(2);
    const [kernel, stride] = [a.numbers("kernel_sizes"), a.numbers("strides")];
    const shape = (a.outputs[0]?.shape ?? []).map(Number);
    const out = shape.slice(2);
    const table = windows(sizes, out, kernel, stride, [], beginPads(a, sizes, kernel, stride, []));
    const [plane, places, taps] = [elementCount(sizes), elementCount(out), elementCount(kernel)];
    const skipPadding = average && a.flag("exclude_padding_from_average");
    const data = new Float64Array(elementCount(shape));
    for (let from = 0; from < x.data.length / plane; from++)
      for (let p = 0; p < places; p++) {
        let total = average ? 0 : -Infinity;
        let count = 0;
        for (let t = 0; t < taps; t++) {
          const at = table[p * taps + t] as number;
          if (at < 0) continue;
          count += 1;
          const v = x.data[from * plane + at] as number;
          total = average ? total + v : Math.max(total, v);
        }
        data[from * places + p] = average ? total / (skipPadding ? Math.max(1, count) : taps) : total;
      }
    return simTensor(a.dtype, shape, data);
  };

export const LINEAR: Readonly<Record<string, Kernel>> = {
  linear,
  matmul,
  scaled_dot_product_attention: scaledDotProductAttention,
  conv,
  avg_pool: pool(true),
  max_pool: pool(false),
};
