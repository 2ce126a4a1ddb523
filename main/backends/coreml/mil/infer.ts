/**
 * Output types of the operators that this backend emits (and that the simulator runs). An operator that is not here
 * cannot be emitted: the error says so, and a test walks the list against coremltools' own inference.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { InferArguments } from "./reader.ts";
import { Reader, broadcast } from "./reader.ts";
import { sliceAxes } from "./slices.ts";
import type { MilDim, MilDtype, MilTensorType } from "./types.ts";
import { isMilDtype, tensorType } from "./types.ts";

type Rule = (a: Reader) => readonly MilTensorType[];

const same: Rule = (a) => [a.tensor("x")];
const binary =
  (dtype?: MilDtype): Rule =>
  (a) => [tensorType(dtype ?? a.tensor("x").dtype, broadcast(a.tensor("x").shape, a.tensor("y").shape, a))];

const reduce: Rule = (a) => {
  const x = a.tensor("x");
  const axes = new Set(
    (a.optionalNumbers("axes") ?? x.shape.map((_, i) => i)).map((axis) => a.normal(axis, x.shape.length)),
  );
  const keep = a.flag("keep_dims");
  return [
    tensorType(
      x.dtype,
      x.shape.flatMap((d, i) => (axes.has(i) ? (keep ? [1] : []) : [d])),
    ),
  ];
};

const argReduce: Rule = (a) => {
  const x = a.tensor("x");
  const axis = a.axis("axis", x.shape.length);
  const keep = a.flag("keep_dims");
  return [
    tensorType(
      namedDtype(a, "output_dtype"),
      x.shape.flatMap((d, i) => (i === axis ? (keep ? [1] : []) : [d])),
    ),
  ];
};

function namedDtype(a: Reader, argument: string): MilDtype {
  if (!a.has(argument)) return "int32";
  const name = a.string(argument);
  return isMilDtype(name) ? name : a.fail(`unknown element type ${name}`);
}

const linear: Rule = (a) => {
  const [x, w] = [a.tensor("x"), a.tensor("weight")];
  if (x.shape.at(-1) !== w.shape[1]) a.fail(`x [${x.shape.join()}] does not fit weight [${w.shape.join()}]`);
  return [tensorType(x.dtype, [...x.shape.slice(0, -1), w.shape[0] ?? null])];
};

const matmul: Rule = (a) => {
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

const attention: Rule = (a) => {
  const [q, v] = [a.tensor("query"), a.tensor("value")];
  return [tensorType(q.dtype, [...q.shape.slice(0, -1), v.shape.at(-1) ?? null])];
};

/** Spatial output sizes of convolution and pooling. */
function windowed(
  a: Reader,
  sizes: readonly MilDim[],
  kernel: readonly MilDim[],
  dilations: readonly number[],
): MilDim[] {
  const [strides, pads, padType] = [a.numbers("strides"), a.numbers("pad"), a.string("pad_type")];
  const ceil = a.flag("ceil_mode");
  return sizes.map((size, i) => {
    const [k, s, d] = [kernel[i] ?? null, strides[i] ?? 1, dilations[i] ?? 1];
    if (size === null || k === null) return null;
    if (padType === "same" || padType === "same_lower") return Math.ceil(size / s);
    const pad = padType === "custom" ? (pads[2 * i] ?? 0) + (pads[2 * i + 1] ?? 0) : 0;
    const room = (size + pad - d * (k - 1) - 1) / s;
    return (ceil ? Math.ceil(room) : Math.floor(room)) + 1;
  });
}

const conv: Rule = (a) => {
  const [x, w] = [a.tensor("x"), a.tensor("weight")];
  return [
    tensorType(x.dtype, [
      x.shape[0] ?? null,
      w.shape[0] ?? null,
      ...windowed(a, x.shape.slice(2), w.shape.slice(2), a.numbers("dilations")),
    ]),
  ];
};

const convTranspose: Rule = (a) => {
  const [x, w] = [a.tensor("x"), a.tensor("weight")];
  const filters = (w.shape[1] ?? 1) * a.number("groups");
  const [strides, pads, dilations] = [a.numbers("strides"), a.numbers("pad"), a.numbers("dilations")];
  const reached = x.shape.slice(2).map((size, i): MilDim => {
    const taps = w.shape[i + 2] ?? null;
    if (size === null || taps === null) return null;
    const pad = a.string("pad_type") === "custom" ? (pads[2 * i] ?? 0) + (pads[2 * i + 1] ?? 0) : 0;
    return (size - 1) * (strides[i] ?? 1) + (taps - 1) * (dilations[i] ?? 1) + 1 - pad;
  });
  const shape = [x.shape[0] ?? null, filters, ...reached];
  const given = a.optionalNumbers("output_shape");
  if (given !== undefined && given.join() !== shape.join())
    a.fail(`output_shape [${given.join()}] is not [${shape.join()}]`);
  return [tensorType(x.dtype, shape)];
};

const pool: Rule = (a) => {
  const x = a.tensor("x");
  return [
    tensorType(x.dtype, [...x.shape.slice(0, 2), ...windowed(a, x.shape.slice(2), a.numbers("kernel_sizes"), [])]),
  ];
};

const gather: Rule = (a) => {
  const [x, indices] = [a.tensor("x"), a.tensor("indices")];
  const axis = a.axis("axis", x.shape.length);
  const batch = a.has("batch_dims") ? a.number("batch_dims") : 0;
  return [tensorType(x.dtype, [...x.shape.slice(0, axis), ...indices.shape.slice(batch), ...x.shape.slice(axis + 1)])];
};

const gatherNd: Rule = (a) => {
  const [x, indices] = [a.tensor("x"), a.tensor("indices")];
  const batch = a.has("batch_dims") ? a.number("batch_dims") : 0;
  const depth = indices.shape.at(-1);
  if (typeof depth !== "number") return a.fail("the last dimension of indices must be fixed");
  return [tensorType(x.dtype, [...indices.shape.slice(0, -1), ...x.shape.slice(batch + depth)])];
};

const concat: Rule = (a) => {
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

const stack: Rule = (a) => {
  const values = a.list("values");
  const [first] = values;
  if (first === undefined) return a.fail("no values");
  const axis = a.axis("axis", first.shape.length + 1);
  return [tensorType(first.dtype, [...first.shape.slice(0, axis), values.length, ...first.shape.slice(axis)])];
};

const split: Rule = (a) => {
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

const reshape: Rule = (a) => {
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

const transpose: Rule = (a) => {
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

const expandDims: Rule = (a) => {
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

const squeeze: Rule = (a) => {
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

const slice: Rule = (a) => {
  const x = a.tensor("x");
  const [begin, end] = [a.knownNumbers("begin"), a.knownNumbers("end")];
  const squeezeMask = a.optionalNumbers("squeeze_mask");
  const fixed = x.shape.every((d): d is number => d !== null);
  if (begin === undefined || end === undefined || !fixed) {
    const [beginMask, endMask] = [a.optionalNumbers("begin_mask"), a.optionalNumbers("end_mask")];
    return [
      tensorType(
        x.dtype,
        x.shape.flatMap((d, i) => (squeezeMask?.[i] ? [] : [beginMask?.[i] && endMask?.[i] ? d : null])),
      ),
    ];
  }
  const axes = sliceAxes(x.shape, {
    begin,
    end,
    stride: a.optionalNumbers("stride"),
    beginMask: a.optionalNumbers("begin_mask"),
    endMask: a.optionalNumbers("end_mask"),
    squeezeMask,
  });
  return [
    tensorType(
      x.dtype,
      axes.filter((s) => !s.squeeze).map((s) => s.count),
    ),
  ];
};

const sliceBySize: Rule = (a) => {
  const x = a.tensor("x");
  const begin = a.knownNumbers("begin");
  return [
    tensorType(
      x.dtype,
      a
        .numbers("size")
        .map((n, i) => (n !== -1 ? n : begin === undefined ? null : (x.shape[i] ?? 0) - (begin[i] ?? 0))),
    ),
  ];
};

const pad: Rule = (a) => {
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

const topk: Rule = (a) => {
  const x = a.tensor("x");
  const axis = a.axis("axis", x.shape.length);
  const shape = x.shape.map((d, i) => (i === axis ? a.number("k") : d));
  return [tensorType(x.dtype, shape), tensorType(namedDtype(a, "output_indices_dtype"), shape)];
};

const upsample: Rule = (a) => {
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

const blockwise: Rule = (a) => {
  const [data, scale] = [a.tensor("data"), a.tensor("scale")];
  const fits =
    data.shape.length === scale.shape.length &&
    data.shape.every((d, i) => d !== null && d % (scale.shape[i] ?? 0) === 0);
  if (!fits) a.fail(`scale [${scale.shape.join()}] does not divide data [${data.shape.join()}]`);
  if (a.has("offset")) {
    const offset = a.tensor("offset");
    if (offset.shape.join() !== scale.shape.join()) a.fail("offset and scale differ in shape");
    if (offset.dtype !== data.dtype && offset.dtype !== "fp16" && offset.dtype !== "fp32")
      a.fail(`offset is ${offset.dtype}, data ${data.dtype}`);
  }
  return [tensorType(scale.dtype, data.shape)];
};

const lut: Rule = (a) => {
  const [indices, table] = [a.tensor("indices"), a.tensor("lut")];
  return [tensorType(table.dtype, indices.shape)];
};

const range1d: Rule = (a) => {
  const [start, end, step] = [a.number("start"), a.number("end"), a.number("step")];
  return [tensorType(a.tensor("end").dtype, [Math.max(0, Math.ceil((end - start) / step))])];
};

/** The branches alone make the shape; the condition may only be stretched to it. */
const select: Rule = (a) => {
  const shape = broadcast(a.tensor("a").shape, a.tensor("b").shape, a);
  if (broadcast(a.tensor("cond").shape, shape, a).join() !== shape.join())
    a.fail("the condition is larger than the branches");
  return [tensorType(a.tensor("a").dtype, shape)];
};

const oneHot: Rule = (a) => {
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

const each = (names: readonly string[], rule: Rule): [string, Rule][] => names.map((name) => [name, rule]);

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...each(
    [
      "abs",
      "acos",
      "asin",
      "atan",
      "atanh",
      "ceil",
      "cos",
      "cosh",
      "erf",
      "exp",
      "exp2",
      "floor",
      "round",
      "sign",
      "sin",
    ],
    same,
  ),
  ...each(
    [
      "sinh",
      "sqrt",
      "square",
      "tan",
      "tanh",
      "inverse",
      "log",
      "rsqrt",
      "clip",
      "threshold",
      "logical_not",
      "identity",
    ],
    same,
  ),
  ...each(
    ["relu", "relu6", "sigmoid", "softplus", "softsign", "silu", "gelu", "leaky_relu", "elu", "prelu", "sigmoid_hard"],
    same,
  ),
  ...each(["clamped_relu", "linear_activation", "scaled_tanh", "softmax", "cumsum", "reverse", "band_part"], same),
  ...each(["layer_norm", "l2_norm", "batch_norm", "instance_norm"], same),
  ...each(["add", "sub", "mul", "real_div", "floor_div", "mod", "pow", "maximum", "minimum"], binary()),
  ...each(["logical_and", "logical_or", "logical_xor"], binary("bool")),
  ...each(["equal", "not_equal", "greater", "greater_equal", "less", "less_equal"], binary("bool")),
  ...each(["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum_square"], reduce),
  ...each(["reduce_l1_norm", "reduce_l2_norm", "reduce_log_sum", "reduce_log_sum_exp"], reduce),
  ...each(["reduce_argmax", "reduce_argmin"], argReduce),
  ...each(["scatter", "scatter_along_axis", "scatter_nd"], (a) => [a.tensor("data")]),
  ...each(["avg_pool", "max_pool"], pool),
  ["argsort", (a) => [tensorType("int32", a.tensor("x").shape)]],
  ["cast", (a) => [tensorType(namedDtype(a, "dtype"), a.tensor("x").shape)]],
  ["select", select],
  ["linear", linear],
  ["matmul", matmul],
  ["conv", conv],
  ["conv_transpose", convTranspose],
  ["scaled_dot_product_attention", attention],
  ["topk", topk],
  ["gather", gather],
  ["gather_along_axis", (a) => [tensorType(a.tensor("x").dtype, a.tensor("indices").shape)]],
  ["gather_nd", gatherNd],
  ["one_hot", oneHot],
  ["concat", concat],
  ["stack", stack],
  ["split", split],
  [
    "tile",
    (a) => [
      tensorType(
        a.tensor("x").dtype,
        a.tensor("x").shape.map((d, i) => (d === null ? null : d * (a.numbers("reps")[i] ?? 1))),
      ),
    ],
  ],
  ["pad", pad],
  ["fill", (a) => [tensorType(a.tensor("value").dtype, a.numbers("shape"))]],
  ["fill_like", (a) => [tensorType(a.tensor("value").dtype, a.tensor("ref_tensor").shape)]],
  ["range_1d", range1d],
  ["shape", (a) => [tensorType("int32", [a.tensor("x").shape.length])]],
  ["reshape", reshape],
  ["transpose", transpose],
  ["expand_dims", expandDims],
  ["squeeze", squeeze],
  ["slice_by_index", slice],
  ["slice_by_size", sliceBySize],
  ["slice_update", same],
  ["upsample_nearest_neighbor", upsample],
  ["read_state", (a) => [a.tensor("input")]],
  ["constexpr_blockwise_shift_scale", blockwise],
  ["constexpr_lut_to_dense", lut],
]);

/** Operators this backend can emit. */
export const EMITTED_OPS: readonly string[] = [...RULES.keys()];

export function inferOutputs(type: string, args: InferArguments): readonly MilTensorType[] {
  const rule = RULES.get(type);
  if (rule === undefined)
    throw new WorkbenchError("UNSUPPORTED_OP", `[${type}] this backend does not emit the operator`, {
      hint: "Add its rule to mil/infer.ts and its kernel to simulator/.",
    });
  return rule(new Reader(type, args));
}
