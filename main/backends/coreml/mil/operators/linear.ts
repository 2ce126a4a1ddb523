/** Matrix products and attention. Sums are kept in double precision and rounded once. */
import { addRowProducts } from "../../../../ir/rowProducts.ts";
import type { Kernel } from "../../simulator/kernel.ts";
import type { PackageTensor } from "../../package/packageTensor.ts";
import { packageTensor } from "../../package/packageTensor.ts";
import { broadcastShape, broadcastStrides, offsets, pick, simError, strides } from "../../simulator/tensor.ts";
import { broadcast } from "../reader.ts";
import type { MilDim } from "../types.ts";
import { tensorType } from "../types.ts";
import type { Infer, Operators } from "./operator.ts";

/** Columns whose weights are widened to doubles at a time: they stay in the processor's caches. */
const COLUMNS_AT_ONCE = 64;

/** rows × inner times (columns × inner) transposed, into `out`. */
function rowsTimesRows(
  x: Float64Array,
  xAt: number,
  w: Float32Array | Int32Array,
  wAt: number,
  [rows, columns, inner]: readonly [rows: number, columns: number, inner: number],
  out: Float64Array,
  outAt: number,
): void {
  const some = new Float64Array(Math.min(columns, COLUMNS_AT_ONCE) * inner);
  const part = new Float64Array(Math.min(columns, COLUMNS_AT_ONCE) * rows);
  for (let from = 0; from < columns; from += COLUMNS_AT_ONCE) {
    const count = Math.min(COLUMNS_AT_ONCE, columns - from);
    some.set(w.subarray(wAt + from * inner, wAt + (from + count) * inner));
    part.fill(0);
    addRowProducts(x, some, part, [rows, count, inner], { x: xAt });
    for (let m = 0; m < rows; m++) out.set(part.subarray(m * count, (m + 1) * count), outAt + m * columns + from);
  }
}

const linear: Kernel = (a) => {
  const [x, weight, bias] = [a.tensor("x"), a.tensor("weight"), a.optional("bias")];
  const [columns = 0, inner = 0] = weight.shape;
  const rows = x.data.length / inner;
  const out = new Float64Array(rows * columns);
  rowsTimesRows(new Float64Array(x.data), 0, weight.data, 0, [rows, columns, inner], out, 0);
  if (bias !== undefined)
    for (let i = 0; i < out.length; i++) out[i] = (out[i] as number) + (bias.data[i % columns] ?? 0);
  return packageTensor(a.dtype, [...x.shape.slice(0, -1), columns], out);
};

/** The last two axes swapped, so that products always run along rows. */
function swapped(x: PackageTensor): PackageTensor {
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
function multiply(x: PackageTensor, y: PackageTensor): { readonly shape: number[]; readonly data: Float64Array } {
  const [m = 1, k = 1] = x.shape.slice(-2);
  const [n = 1, k2 = 1] = y.shape.slice(-2);
  if (k !== k2) simError("matmul", `[${x.shape.join()}] and [${y.shape.join()}] do not multiply`);
  const [xb, yb] = [x.shape.slice(0, -2), y.shape.slice(0, -2)];
  const batch = broadcastShape(xb, yb);
  const [xs, ys] = [offsets(batch, broadcastStrides(xb, batch)), offsets(batch, broadcastStrides(yb, batch))];
  const data = new Float64Array(xs.length * m * n);
  const wide = new Float64Array(x.data);
  for (let b = 0; b < xs.length; b++)
    rowsTimesRows(wide, (xs[b] as number) * m * k, y.data, (ys[b] as number) * n * k, [m, n, k], data, b * m * n);
  return { shape: [...batch, m, n], data };
}

const matmul: Kernel = (a) => {
  const [x, y] = [a.tensor("x"), a.tensor("y")];
  const { shape, data } = multiply(a.flag("transpose_x") ? swapped(x) : x, a.flag("transpose_y") ? y : swapped(y));
  return packageTensor(a.dtype, shape, data);
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
  return packageTensor(a.dtype, shape, data);
};

// Types of the results.

const linearType: Infer = (a) => {
  const [x, w] = [a.tensor("x"), a.tensor("weight")];
  if (x.shape.at(-1) !== w.shape[1]) a.fail(`x [${x.shape.join()}] does not fit weight [${w.shape.join()}]`);
  return [tensorType(x.dtype, [...x.shape.slice(0, -1), w.shape[0] ?? null])];
};

const matmulType: Infer = (a) => {
  const [x, y] = [a.tensor("x"), a.tensor("y")];
  const flip = (shape: readonly MilDim[], t: boolean): readonly [MilDim, MilDim] => {
    const [m, n] = [shape.at(-2) ?? null, shape.at(-1) ?? null];
    return t ? [n, m] : [m, n];
  };
  const [m, k] = flip(x.shape, a.flag("transpose_x"));
  const [k2, n] = flip(y.shape, a.flag("transpose_y"));
  if (x.shape.length < 2 || y.shape.length < 2 || (k !== k2 && k !== null && k2 !== null))
    a.fail(`[${x.shape.join()}] and [${y.shape.join()}] do not multiply`);
  return [tensorType(x.dtype, [...broadcast(x.shape.slice(0, -2), y.shape.slice(0, -2), a), m, n])];
};

const attentionType: Infer = (a) => {
  const [q, v] = [a.tensor("query"), a.tensor("value")];
  return [tensorType(q.dtype, [...q.shape.slice(0, -1), v.shape.at(-1) ?? null])];
};

export const LINEAR: Operators = {
  linear: {
    infer: linearType,
    run: linear,
    flops: (out, inputs) => 2 * out * (inputs.get("x")?.type.shape.at(-1) ?? 1),
  },
  matmul: {
    infer: matmulType,
    run: matmul,
    flops: (out, inputs) => {
      const shape = inputs.get("x")?.type.shape ?? [];
      const flipped = inputs.get("transpose_x")?.constant?.data;
      const inner = flipped?.kind === "numbers" && flipped.values[0] === 1 ? shape.at(-2) : shape.at(-1);
      return 2 * out * (inner ?? 1);
    },
  },
  scaled_dot_product_attention: {
    infer: attentionType,
    run: scaledDotProductAttention,
    flops: (out, inputs) => 4 * out * (inputs.get("key")?.type.shape.at(-2) ?? 1),
  },
};
