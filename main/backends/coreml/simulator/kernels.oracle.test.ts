// Every operator that this backend emits, built with the builder, run by the simulator, against coremltools' own evaluation
// of the same operator; where coremltools has none (or a wrong one: the case says what is wrong), against NumPy.
import { beforeAll, describe, expect, it } from "vitest";
import type { OracleInputs, OracleTensor } from "../../../testing/oracle.ts";
import { milEval, numpyEval, oracleMissing, tensor } from "../../../testing/oracle.ts";
import type { BuildableOp } from "../mil/builder.ts";
import { MilFunctionBuilder } from "../mil/builder.ts";
import { NameTable } from "../mil/names.ts";
import type { MilDtype, MilValue } from "../mil/types.ts";
import { roundToHalf } from "../../../quant/half.ts";
import { SIMULATED_OPS } from "./kernels.ts";
import { Simulator } from "./simulator.ts";

type Float = "f16" | "f32";
type Arg = number | boolean | string | OracleTensor | readonly OracleTensor[];
interface Case {
  readonly op: string;
  readonly args: (f: Float) => Readonly<Record<string, Arg>>;
  /** NumPy instead of coremltools; the arguments are its variables. Floats are computed in float64. */
  readonly numpy?: string;
  /** Why NumPy, where coremltools does not simply leave the operator without an evaluation. */
  readonly instead?: string;
}

let seed = 7;
const random = (): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
const normal = (): number => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());

/** Random floats that both types hold exactly, so that only the operator's own rounding is compared. */
const floats = (f: Float, shape: readonly number[], low = -3, high = 3): OracleTensor =>
  tensor(
    f,
    shape,
    Array.from({ length: shape.reduce((p, d) => p * d, 1) }, () => roundToHalf(low + (high - low) * random())),
  );
const gaussian = (f: Float, shape: readonly number[], scale = 1): OracleTensor =>
  tensor(
    f,
    shape,
    Array.from({ length: shape.reduce((p, d) => p * d, 1) }, () => roundToHalf(normal() * scale)),
  );
const ints = (shape: readonly number[], low: number, high: number): OracleTensor =>
  tensor(
    "i32",
    shape,
    Array.from({ length: shape.reduce((p, d) => p * d, 1) }, () => low + Math.floor(random() * (high - low + 1))),
  );
const codes = (shape: readonly number[]): OracleTensor => ({ ...ints(shape, -128, 127), dtype: "i8" });
const bools = (shape: readonly number[]): OracleTensor =>
  tensor(
    "bool",
    shape,
    Array.from({ length: shape.reduce((p, d) => p * d, 1) }, () => (random() < 0.5 ? 0 : 1)),
  );
const list = (...values: number[]): OracleTensor => tensor("i32", [values.length], values);
const flags = (...values: boolean[]): OracleTensor => tensor("bool", [values.length], values.map(Number));

const unary = (op: string, low: number, high: number, extra: Readonly<Record<string, number | string>> = {}): Case => ({
  op,
  args: (f) => ({
    x: floats(f, [3, 5], low, high),
    ...Object.fromEntries(Object.entries(extra).map(([k, v]) => [k, typeof v === "number" ? tensor(f, [], [v]) : v])),
  }),
});
const binary = (op: string, low = -3, high = 3): Case[] => [
  { op, args: (f) => ({ x: floats(f, [2, 3, 4], low, high), y: floats(f, [3, 1], low, high) }) },
  { op, args: (f) => ({ x: floats(f, [3, 5], low, high), y: floats(f, [3, 5], low, high) }) },
];
const reduce = (op: string, low = -3, high = 3): Case[] => [
  { op, args: (f) => ({ x: floats(f, [2, 3, 4], low, high), axes: list(1, -1), keep_dims: false }) },
  { op, args: (f) => ({ x: floats(f, [2, 3, 4], low, high), axes: list(0), keep_dims: true }) },
];
const compare = (op: string): Case => ({ op, args: () => ({ x: ints([2, 3], 0, 2), y: ints([3], 0, 2) }) });
const logical = (op: string): Case => ({ op, args: () => ({ x: bools([2, 3]), y: bools([3]) }) });
const scatterMode = (mode: "update" | "add" | "max"): Case => ({
  op: "scatter_along_axis",
  args: (f) => ({
    data: floats(f, [3, 4]),
    indices: tensor("i32", [2, 4], [0, 2, 1, 0, 2, 1, 0, 2]),
    updates: floats(f, [2, 4], 1, 2),
    axis: 0,
    mode,
    validate_indices: false,
  }),
  ...(mode === "update"
    ? {}
    : {
        instead: "coremltools replaces the elements, whatever the mode",
        numpy: `
out = np.array(data, np.float64)
for i in range(2):
    for j in range(4):
        old, new = out[indices[i, j], j], float(updates[i, j])
        out[indices[i, j], j] = {"add": old + new, "max": max(old, new)}["${mode}"]
out`,
      }),
});

const CASES: readonly Case[] = [
  ...["abs", "ceil", "floor", "round", "sign", "square", "identity", "relu", "relu6", "softsign"].map((op) =>
    unary(op, -8, 8),
  ),
  ...["cos", "sin", "atan", "tanh", "erf", "exp", "exp2", "sigmoid", "softplus", "sinh", "cosh"].map((op) =>
    unary(op, -4, 4),
  ),
  { ...unary("silu", -6, 6), numpy: "x / (1 + np.exp(-x))" },
  ...["acos", "asin", "atanh"].map((op) => unary(op, -0.95, 0.95)),
  unary("tan", -1.2, 1.2),
  unary("sqrt", 0, 9),
  unary("log", 0.1, 9, { epsilon: 0 }),
  unary("rsqrt", 0.1, 9, { epsilon: 0.25 }),
  unary("inverse", 0.5, 9, { epsilon: 0 }),
  unary("clip", -5, 5, { alpha: -1, beta: 2 }),
  unary("threshold", -5, 5, { alpha: 0.5 }),
  ...["EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"].map((mode) => unary("gelu", -4, 4, { mode })),
  unary("leaky_relu", -3, 3, { alpha: 0.25 }),
  unary("elu", -3, 3, { alpha: 0.5 }),
  {
    op: "prelu",
    args: (f) => ({ x: floats(f, [2, 3, 4]), alpha: floats(f, [3], 0, 1) }),
    instead: "coremltools refuses slopes that differ",
    numpy: "np.where(x >= 0, x, alpha.reshape(1, 3, 1) * x)",
  },
  unary("sigmoid_hard", -5, 5, { alpha: 0.25, beta: 0.5 }),
  unary("clamped_relu", -5, 5, { alpha: 0.25, beta: 2 }),
  unary("linear_activation", -5, 5, { alpha: 0.25, beta: 0.5 }),
  unary("scaled_tanh", -2, 2, { alpha: 0.5, beta: 1.5 }),
  { op: "logical_not", args: () => ({ x: bools([2, 3]) }) },
  ...["add", "sub", "mul", "maximum", "minimum"].flatMap((op) => binary(op)),
  ...["real_div", "floor_div", "mod", "pow"].flatMap((op) => binary(op, 0.5, 3)),
  { op: "add", args: () => ({ x: ints([2, 3], -9, 9), y: ints([3], -9, 9) }) },
  // The product wraps.
  {
    op: "mul",
    args: () => ({ x: tensor("i32", [3], [123456789, -46341, 7]), y: tensor("i32", [3], [987654321, 46341, 6]) }),
  },
  { op: "mod", args: () => ({ x: ints([7], -9, 9), y: tensor("i32", [], [4]) }) },
  { op: "floor_div", args: () => ({ x: ints([7], -9, 9), y: tensor("i32", [], [4]) }) },
  {
    op: "real_div",
    args: () => ({ x: ints([7], -9, 9), y: tensor("i32", [], [4]) }),
  },
  ...["equal", "not_equal", "greater", "greater_equal", "less", "less_equal"].map(compare),
  ...["logical_and", "logical_or", "logical_xor"].map(logical),
  ...["int32", "bool", "fp16", "fp32"].map((dtype): Case => ({
    op: "cast",
    args: (f) => ({ x: floats(f, [7], -9, 9), dtype }),
  })),
  { op: "cast", args: () => ({ x: bools([5]), dtype: "fp16" }) },
  {
    op: "quantize",
    args: (f) => ({ input: floats(f, [3, 5], -9, 9), scale: tensor(f, [], [0.0625]), output_dtype: "int8" }),
  },
  // Ties go to the even code, and what lies beyond eight bits is held.
  {
    op: "quantize",
    args: (f) => ({
      input: tensor(f, [2, 4], [0.5, 1.5, -0.5, 300, -300, 2.5, 3.5, -1.5]),
      ...{ scale: tensor(f, [2], [1, 0.5]), zero_point: tensor("i8", [2], [-7, 9]), axis: 0, output_dtype: "int8" },
    }),
  },
  {
    op: "dequantize",
    args: (f) => ({
      input: codes([2, 3, 4]),
      ...{ scale: tensor(f, [3], [0.5, 0.25, 2]), zero_point: tensor("i8", [3], [-128, 0, 127]), axis: -2 },
    }),
  },
  { op: "dequantize", args: (f) => ({ input: codes([7]), scale: tensor(f, [], [0.0625]) }) },
  {
    op: "select",
    args: (f) => ({ cond: bools([2, 1]), a: floats(f, [2, 3]), b: floats(f, [2, 3]) }),
  },
  { op: "softmax", args: (f) => ({ x: floats(f, [2, 5, 3]), axis: 1 }) },
  { op: "softmax", args: (f) => ({ x: tensor(f, [1, 4], [1, -40000, 3, 2]), axis: -1 }) },
  {
    op: "linear",
    args: (f) => ({ x: gaussian(f, [2, 3, 7]), weight: gaussian(f, [5, 7]), bias: gaussian(f, [5]) }),
  },
  {
    op: "matmul",
    args: (f) => ({ x: gaussian(f, [2, 3, 7]), y: gaussian(f, [1, 7, 4]), transpose_x: false, transpose_y: false }),
  },
  {
    op: "matmul",
    args: (f) => ({ x: gaussian(f, [7, 3]), y: gaussian(f, [2, 4, 7]), transpose_x: true, transpose_y: true }),
  },
  {
    op: "scaled_dot_product_attention",
    args: (f) => ({
      query: gaussian(f, [2, 3, 4]),
      key: gaussian(f, [2, 5, 4]),
      value: gaussian(f, [2, 5, 6]),
      attn_mask: bools([3, 5]),
    }),
  },
  {
    op: "conv",
    args: (f) => ({
      x: gaussian(f, [2, 4, 9]),
      weight: gaussian(f, [6, 2, 3]),
      bias: gaussian(f, [6]),
      strides: list(2),
      pad_type: "custom",
      pad: list(1, 2),
      dilations: list(2),
      groups: 2,
    }),
    numpy: `
p = np.pad(x, ((0, 0), (0, 0), (1, 2)))
out = np.zeros((2, 6, 4))
for n in range(2):
    for f in range(6):
        for o in range(4):
            g = f // 3 * 2
            out[n, f, o] = bias[f] + sum(p[n, g + c, 2 * o + 2 * k] * weight[f, c, k] for c in range(2) for k in range(3))
out`,
  },
  {
    op: "conv",
    args: (f) => ({
      x: gaussian(f, [1, 2, 5, 6]),
      weight: gaussian(f, [3, 2, 3, 2]),
      strides: list(1, 2),
      pad_type: "same",
      pad: list(0, 0, 0, 0),
      dilations: list(1, 1),
      groups: 1,
    }),
    numpy: `
p = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
out = np.zeros((1, 3, 5, 3))
for f in range(3):
    for i in range(5):
        for j in range(3):
            out[0, f, i, j] = (p[0, :, i:i + 3, 2 * j:2 * j + 2] * weight[f]).sum()
out`,
  },
  {
    op: "conv_transpose",
    args: (f) => ({
      x: gaussian(f, [2, 4, 3]),
      weight: gaussian(f, [4, 3, 4]),
      bias: gaussian(f, [6]),
      strides: list(2),
      pad_type: "custom",
      pad: list(2, 1),
      dilations: list(3),
      groups: 2,
    }),
    numpy: `
out = np.zeros((2, 6, 14)) + bias[:, None]
for n in range(2):
    for c in range(4):
        for f in range(3):
            for i in range(3):
                for k in range(4):
                    out[n, c // 2 * 3 + f, 2 * i + 3 * k] += x[n, c, i] * weight[c, f, k]
out[:, :, 2:-1]`,
  },
  {
    op: "conv_transpose",
    args: (f) => ({
      x: gaussian(f, [1, 2, 2, 3]),
      weight: gaussian(f, [2, 3, 3, 2]),
      output_shape: list(1, 3, 4, 5),
      strides: list(2, 2),
      pad_type: "custom",
      pad: list(1, 0, 0, 1),
      dilations: list(1, 1),
      groups: 1,
    }),
    numpy: `
out = np.zeros((1, 3, 5, 6))
for c in range(2):
    for f in range(3):
        for i in range(2):
            for j in range(3):
                out[0, f, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2] += x[0, c, i, j] * weight[c, f]
out[:, :, 1:, :-1]`,
  },
  {
    op: "max_pool",
    args: (f) => ({
      x: floats(f, [1, 2, 7]),
      kernel_sizes: list(3),
      strides: list(2),
      pad_type: "custom",
      pad: list(1, 1),
      ceil_mode: false,
    }),
    numpy:
      "p = np.pad(x, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)\nnp.stack([p[:, :, 2 * i:2 * i + 3].max(-1) for i in range(4)], -1)",
  },
  {
    op: "avg_pool",
    args: (f) => ({
      x: floats(f, [1, 2, 6]),
      kernel_sizes: list(2),
      strides: list(2),
      pad_type: "valid",
      pad: list(0, 0),
      exclude_padding_from_average: false,
      ceil_mode: false,
    }),
    numpy: "x.reshape(1, 2, 3, 2).mean(-1)",
  },
  {
    op: "avg_pool",
    args: (f) => ({
      x: floats(f, [1, 1, 4]),
      kernel_sizes: list(3),
      strides: list(1),
      pad_type: "custom",
      pad: list(1, 1),
      exclude_padding_from_average: true,
      ceil_mode: false,
    }),
    numpy: "v = x[0, 0]\nnp.array([[[v[:2].mean(), v[:3].mean(), v[1:].mean(), v[2:].mean()]]])",
  },
  {
    op: "layer_norm",
    args: (f) => ({
      x: gaussian(f, [2, 3, 4]),
      axes: list(1, 2),
      gamma: gaussian(f, [3, 4]),
      beta: gaussian(f, [3, 4]),
      epsilon: tensor(f, [], [0.125]),
    }),
  },
  {
    op: "l2_norm",
    args: (f) => ({ x: gaussian(f, [2, 2, 3, 4]), epsilon: tensor(f, [], [0.125]) }),
  },
  {
    op: "batch_norm",
    args: (f) => ({
      x: gaussian(f, [2, 3, 4, 2]),
      mean: gaussian(f, [3]),
      variance: floats(f, [3], 0.5, 2),
      gamma: gaussian(f, [3]),
      beta: gaussian(f, [3]),
      epsilon: tensor(f, [], [0.125]),
    }),
    numpy:
      "s = (1, 3, 1, 1)\n(x - mean.reshape(s)) / np.sqrt(variance.reshape(s) + 0.125) * gamma.reshape(s) + beta.reshape(s)",
  },
  {
    op: "instance_norm",
    args: (f) => ({
      x: gaussian(f, [2, 3, 8]),
      gamma: gaussian(f, [3]),
      beta: gaussian(f, [3]),
      epsilon: tensor(f, [], [0.125]),
    }),
    numpy:
      "(x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.125) * gamma.reshape(1, 3, 1) + beta.reshape(1, 3, 1)",
  },
  ...[
    "reduce_sum",
    "reduce_mean",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_sum_square",
    "reduce_l1_norm",
    "reduce_l2_norm",
    "reduce_log_sum_exp",
  ].flatMap((op) => reduce(op)),
  ...reduce("reduce_log_sum", 0.5, 3),
  ...["reduce_argmax", "reduce_argmin"].map((op): Case => ({
    op,
    args: (f) => ({ x: floats(f, [3, 7]), axis: 1, keep_dims: false, output_dtype: "int32" }),
  })),
  {
    op: "topk",
    args: (f) => ({
      x: floats(f, [3, 7]),
      k: 3,
      axis: 1,
      ascending: false,
      sort: true,
      return_indices: true,
      output_indices_dtype: "int32",
    }),
  },
  { op: "argsort", args: (f) => ({ x: floats(f, [3, 7]), axis: 1, ascending: true }) },
  { op: "cumsum", args: (f) => ({ x: floats(f, [3, 4]), axis: 1, exclusive: false, reverse: false }) },
  {
    op: "cumsum",
    args: (f) => ({ x: floats(f, [3, 4]), axis: 0, exclusive: true, reverse: true }),
    instead: "coremltools fails in its own evaluation: it takes the values for a type",
    numpy: "np.concatenate([np.cumsum(np.array(x, np.float64)[::-1], 0)[::-1][1:], np.zeros((1, 4))])",
  },
  {
    op: "gather",
    args: (f) => ({
      x: floats(f, [4, 3, 2]),
      indices: tensor("i32", [2, 2], [2, 0, 1, 1]),
      axis: 1,
      batch_dims: 0,
      validate_indices: false,
    }),
  },
  {
    op: "gather_along_axis",
    args: (f) => ({ x: floats(f, [4, 3]), indices: ints([2, 3], 0, 3), axis: 0, validate_indices: false }),
  },
  {
    op: "gather_nd",
    args: (f) => ({
      x: floats(f, [4, 3, 2]),
      indices: tensor("i32", [3, 2], [0, 1, 3, 2, 1, 0]),
      batch_dims: 0,
      validate_indices: false,
    }),
    numpy: "x[indices[:, 0], indices[:, 1]]",
  },
  {
    op: "scatter",
    args: (f) => ({
      data: floats(f, [4, 3]),
      indices: list(1, 3, 1),
      updates: floats(f, [3, 3]),
      axis: 0,
      mode: "add",
      validate_indices: false,
    }),
    numpy: "out = np.array(data, np.float64)\nnp.add.at(out, indices, updates)\nout",
  },
  ...(["update", "add", "max"] as const).map(scatterMode),
  {
    op: "scatter_nd",
    args: (f) => ({
      data: floats(f, [4, 3]),
      indices: tensor("i32", [2, 2], [0, 1, 3, 2]),
      updates: floats(f, [2]),
      mode: "update",
      validate_indices: false,
    }),
    numpy: "out = np.array(data, np.float64)\nout[indices[:, 0], indices[:, 1]] = updates\nout",
  },
  {
    op: "one_hot",
    args: () => ({ indices: list(0, 3, 2), one_hot_vector_size: 4, axis: -1, on_value: 2, off_value: 1 }),
    numpy: "np.where(np.arange(4) == indices[:, None], 2, 1).astype(np.int32)",
  },
  { op: "concat", args: (f) => ({ values: [floats(f, [2, 3]), floats(f, [2, 1])], axis: -1, interleave: false }) },
  { op: "stack", args: (f) => ({ values: [floats(f, [2, 3]), floats(f, [2, 3])], axis: 1 }) },
  { op: "split", args: (f) => ({ x: floats(f, [2, 7]), split_sizes: list(3, 4), axis: 1 }) },
  { op: "split", args: (f) => ({ x: floats(f, [6, 2]), num_splits: 3, axis: 0 }) },
  { op: "tile", args: (f) => ({ x: floats(f, [2, 3]), reps: list(2, 3) }) },
  ...["constant", "reflect", "replicate"].map((mode): Case => ({
    op: "pad",
    args: (f) => ({ x: floats(f, [2, 3, 4]), pad: list(1, 2, 2, 1), mode, constant_val: tensor(f, [], [0.5]) }),
  })),
  { op: "reverse", args: (f) => ({ x: floats(f, [2, 3]), axes: list(1) }) },
  { op: "fill", args: (f) => ({ shape: list(2, 3), value: tensor(f, [], [1.5]) }) },
  { op: "fill_like", args: (f) => ({ ref_tensor: floats(f, [2, 3]), value: 2 }) },
  {
    op: "range_1d",
    args: () => ({ end: tensor("i32", [], [9]), start: tensor("i32", [], [2]), step: tensor("i32", [], [3]) }),
  },
  { op: "shape", args: (f) => ({ x: floats(f, [2, 3]) }) },
  { op: "band_part", args: (f) => ({ x: floats(f, [4, 5]), lower: 1, upper: -1 }) },
  { op: "reshape", args: (f) => ({ x: floats(f, [2, 6]), shape: list(3, -1) }) },
  { op: "transpose", args: (f) => ({ x: floats(f, [2, 3, 4]), perm: list(2, 0, 1) }) },
  { op: "expand_dims", args: (f) => ({ x: floats(f, [2, 3]), axes: list(0, 2) }) },
  { op: "squeeze", args: (f) => ({ x: floats(f, [1, 3, 1]), axes: list(0) }) },
  {
    op: "slice_by_index",
    args: (f) => ({
      x: floats(f, [4, 6, 3]),
      begin: list(1, 5, 0),
      end: list(4, 0, 2),
      stride: list(2, -2, 1),
      begin_mask: flags(false, false, true),
      end_mask: flags(false, true, false),
      squeeze_mask: flags(false, false, false),
    }),
  },
  {
    op: "slice_by_index",
    args: (f) => ({
      x: floats(f, [4, 3]),
      begin: list(-2, 0),
      end: list(0, 3),
      stride: list(1, 1),
      begin_mask: flags(false, false),
      end_mask: flags(false, false),
      squeeze_mask: flags(true, false),
    }),
  },
  { op: "slice_by_size", args: (f) => ({ x: floats(f, [4, 5]), begin: list(1, 2), size: list(2, -1) }) },
  {
    op: "slice_update",
    args: (f) => ({
      x: floats(f, [4, 5]),
      update: floats(f, [2, 5]),
      begin: list(1, 0),
      end: list(3, 5),
      stride: list(1, 1),
      begin_mask: flags(false, false),
      end_mask: flags(false, false),
      squeeze_mask: flags(false, false),
    }),
  },
  {
    op: "upsample_nearest_neighbor",
    args: (f) => ({ x: floats(f, [1, 2, 2, 3]), scale_factor_height: 2, scale_factor_width: 3 }),
    numpy: "np.repeat(np.repeat(x, 2, 2), 3, 3)",
  },
];

const FLOAT: Readonly<Record<string, MilDtype>> = { f16: "fp16", f32: "fp32", i32: "int32", i8: "int8", bool: "bool" };
const isTensor = (arg: Arg): arg is OracleTensor => typeof arg === "object" && "dtype" in arg;

async function simulate(
  op: string,
  args: Readonly<Record<string, Arg>>,
): Promise<readonly { dtype: string; shape: readonly number[]; data: number[] }[]> {
  const builder = new MilFunctionBuilder("main", "CoreML8", new NameTable());
  const value = (t: OracleTensor): MilValue =>
    builder.constant(FLOAT[t.dtype] ?? "fp32", t.shape, t.data as Float64Array);
  const given = Object.fromEntries(
    Object.entries(args).map(([name, arg]) => [
      name,
      isTensor(arg) ? value(arg) : typeof arg === "object" ? arg.map(value) : arg,
    ]),
  );
  const outputs = builder.ops(op as BuildableOp, given as never);
  const names = outputs.map((o, i) => builder.output(`out${i}`, o));
  const program = { functions: [builder.finish()], buildInfo: {} };
  const simulator = new Simulator({
    specificationVersion: 9,
    program,
    functions: [],
    defaultFunction: "main",
    userDefined: {},
    weights: undefined,
  });
  const made = await simulator.function("main").predict({});
  return names.map((name) => ({
    dtype: made[name]?.dtype ?? "",
    shape: made[name]?.shape ?? [],
    data: [...(made[name]?.data ?? [])],
  }));
}

/** Root mean square of the difference over that of the expected values. */
function relativeRms(actual: readonly number[], expected: ArrayLike<number>): number {
  let [error, size] = [0, 0];
  actual.forEach((v, i) => {
    const e = expected[i] ?? Number.NaN;
    error += (v - e) ** 2;
    size += e * e;
  });
  return size === 0 ? Math.sqrt(error) : Math.sqrt(error / size);
}

const missing = oracleMissing();
const oracleInputs = (args: Readonly<Record<string, Arg>>): OracleInputs => args;

describe.skipIf(missing)(`simulator against coremltools and NumPy ${missing ?? ""}`, () => {
  beforeAll(async () => {
    await numpyEval("1");
  });

  // That these and those of `control.oracle.test.ts` are all that is emitted is shown there.
  it("has a case for every operator with a kernel; packed constants have a file of their own", () => {
    const tested = new Set(CASES.map((c) => c.op));
    expect(SIMULATED_OPS.filter((op) => !op.startsWith("constexpr_") && !tested.has(op))).toEqual([]);
  });

  it("takes NumPy only where coremltools has no evaluation, or for a stated reason", async () => {
    for (const { op, args, numpy, instead } of CASES) {
      if (numpy === undefined) expect(instead, op).toBeUndefined();
      else
        for (const float of ["f32", "f16"] as const) {
          const made = await milEval(op, oracleInputs(args(float))).catch(() => "refused" as const);
          const evaluates = made === "refused" || made.some(({ value }) => value !== null);
          expect(evaluates, `${op} ${float}: ${evaluates ? "coremltools has an answer" : "no reason is needed"}`).toBe(
            instead !== undefined,
          );
        }
    }
  });

  for (const float of ["f32", "f16"] as const)
    for (const [i, { op, args, numpy }] of CASES.entries())
      it(`${op} ${float} #${i}`, async () => {
        const given = args(float);
        const made = await simulate(op, given);
        const wide = Object.fromEntries(
          Object.entries(given).map(([k, v]) => [
            k,
            isTensor(v) && (v.dtype === "f16" || v.dtype === "f32") ? { ...v, dtype: "f64" } : v,
          ]),
        );
        const expected =
          numpy === undefined
            ? (await milEval(op, oracleInputs(given))).map((o) => ({
                ...o,
                value: typeof o.value === "string" ? null : o.value,
              }))
            : (await numpyEval(numpy, oracleInputs(wide))).map((value) => ({
                value,
                dtype: undefined,
                shape: value.shape,
              }));
        expect(made.length).toBe(expected.length);
        expected.forEach((want, k) => {
          const got = made[k];
          expect(want.value, "the oracle has no evaluation: give NumPy").not.toBeNull();
          expect(got?.shape).toEqual(want.shape);
          if (want.dtype !== undefined) expect(got?.dtype).toBe(want.dtype);
          const tolerance = got?.dtype === "fp16" ? 1e-3 : got?.dtype === "fp32" ? 2e-6 : 0;
          expect(relativeRms(got?.data ?? [], want.value?.data ?? [])).toBeLessThanOrEqual(tolerance);
        });
      });
});
