/**
 * What an op is, whatever it is called: a product, a norm, moving of data. Kinds are said in neutral greys, because colours
 * are for devices. A test holds the list against the ops that there are.
 */
import type { GraphView } from "../../main/contract/views/graph.ts";
import { NODE_FLAGS } from "../../main/contract/views/graph.ts";

export const OP_KINDS = [
  "matmul",
  "attention",
  "norm",
  "rope",
  "cache",
  "recurrent",
  "elementwise",
  "reduce",
  "lookup",
  "shape",
  "signal",
  "control",
  "input",
  "other",
] as const;
export type OpKind = (typeof OP_KINDS)[number];

const OPS_OF: { readonly [K in OpKind]?: readonly string[] } = {
  matmul: [
    ...["cholesky", "dense_solve", "det", "dot_general", "eigh", "linear", "linear_block", "linear_grouped", "logdet"],
    ...["lora_matmul", "matmul", "qmatmul", "qr", "scaled_matmul", "svd", "triangular_solve"],
  ],
  attention: ["attention", "attention_cached", "attention_packed", "attention_block"],
  norm: ["batch_norm_inference", "group_norm", "layer_norm", "layer_norm2d", "rms_norm"],
  rope: ["axial_rope_2d", "mrope_table", "rope", "rope_table"],
  cache: ["kv_append", "kv_append_packed", "state"],
  recurrent: ["gated_delta", "gru", "lstm", "rnn", "selective_scan", "short_conv_cached", "ssd", "wkv6", "wkv7"],
  elementwise: [
    ...["abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bernoulli", "bit_and"],
    ...["bit_not", "bit_or", "bit_xor", "ceil", "clamp", "compare", "cos", "cosh", "div", "elu", "erf", "exp", "expm1"],
    ...[
      "dequantize_affine",
      "dequantize_blocks",
      "elementwise_region",
      "fake_quantize",
      "fake_quantize_lsq",
      "from_minifloat",
    ],
    ...["quantize", "quantize_blocks", "to_minifloat"],
    ...["floor", "gelu", "hard_sigmoid", "hard_swish", "is_finite", "is_nan", "leaky_relu", "log", "log1p"],
    ...["log_sigmoid", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum"],
    ...["mish", "mod", "mul", "neg", "pow", "reciprocal", "relu", "relu6", "relu_squared", "round", "rsqrt"],
    ...["shift_left", "shift_right", "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "sqrt", "square"],
    ...["stop_gradient", "sub", "swiglu_clamped", "tan", "tanh", "trunc", "where", "xielu"],
  ],
  reduce: [
    ...["argmax", "argmin", "argsort", "cummax", "cumprod", "cumsum", "log_softmax", "logsumexp", "norm", "reduce"],
    ...["kl", "mse", "sample", "softmax", "softmax_cross_entropy", "sort", "topk", "variance"],
  ],
  lookup: ["gather", "gather_elements", "gather_nd", "scatter_add", "scatter_elements", "scatter_nd"],
  shape: [
    ...["cast", "concat", "dequantize", "expand", "iota", "narrow", "one_hot", "pad", "reshape", "reverse", "roll"],
    ...["slice", "split", "tile", "transpose", "trilu"],
  ],
  signal: [
    ...[
      "complex_div",
      "complex_mul",
      "complex_norm_sq",
      "conjugate",
      "conv",
      "conv_transpose",
      "fft",
      "gaussian_splat_render",
      "interpolate",
      "log_mel",
      "pool",
    ],
    ...["from_complex", "qconv2d", "resize_nearest2x", "rng_bits", "rng_normal", "rng_uniform", "to_complex"],
    ...["welch_peaks"],
  ],
  control: ["custom", "custom_fn", "if", "scan", "while"],
  input: ["constant", "input", "param"],
};

const KIND_OF: ReadonlyMap<string, OpKind> = new Map(
  OP_KINDS.flatMap((kind) => (OPS_OF[kind] ?? []).map((op) => [op, kind] as const)),
);

export const KNOWN_OPS: readonly string[] = [...KIND_OF.keys()];

/** Fused ops are named by their parts ("linear_add"): the first part that is known counts. */
export function kindOfOp(op: string): OpKind {
  const known = KIND_OF.get(op);
  if (known !== undefined) return known;
  const parts = op.split("_");
  for (let length = parts.length - 1; length > 0; length--) {
    const kind = KIND_OF.get(parts.slice(0, length).join("_"));
    if (kind !== undefined) return kind;
  }
  return "other";
}

/** Of what one op of the model became, by its name there: "q_rope", "attn_norm". */
export function kindOfName(name: string): OpKind | null {
  const last = name.slice(name.lastIndexOf("_") + 1);
  const kind = OP_KINDS.find((each) => each === last) ?? kindOfOp(last);
  return kind === "other" ? null : kind;
}

export const kindCode = (kind: OpKind): number => OP_KINDS.indexOf(kind);

/** The number of each node's kind. */
export function kindColumn(view: GraphView): Uint8Array {
  const ofString = new Map<number, number>();
  return Uint8Array.from(view.nodes.op, (op, node) => {
    if (((view.nodes.flags[node] ?? 0) & NODE_FLAGS.state) !== 0) return kindCode("cache");
    const known = ofString.get(op) ?? kindCode(kindOfOp(view.strings[op] ?? ""));
    ofString.set(op, known);
    return known;
  });
}

export interface KindLook {
  /** Path in a 10 × 10 box, drawn in ink. */
  readonly glyph: string;
  /** How much ink the body of its boxes has: what does the work stands out from what only moves data. */
  readonly tint: number;
}

const LOOKS: { readonly [K in OpKind]: KindLook } = {
  matmul: { glyph: "M1 1h3.4v3.4H1zM5.6 1H9v3.4H5.6zM1 5.6h3.4V9H1zM5.6 5.6H9V9H5.6z", tint: 0.13 },
  attention: {
    glyph:
      "M5 .6a4.4 4.4 0 1 1 0 8.8 4.4 4.4 0 0 1 0-8.8zm0 1.5a2.9 2.9 0 1 0 0 5.8 2.9 2.9 0 0 0 0-5.8zm0 1.6a1.3 1.3 0 1 1 0 2.6 1.3 1.3 0 0 1 0-2.6z",
    tint: 0.13,
  },
  recurrent: { glyph: "M5 1a4 4 0 1 0 4 4H7.6A2.6 2.6 0 1 1 5 2.4V4l3-2.3L5 0z", tint: 0.13 },
  norm: { glyph: "M.8 2h8.4v1.3H.8zM2.4 4.4h5.2v1.3H2.4zM.8 6.8h8.4v1.3H.8z", tint: 0.07 },
  rope: { glyph: "M.6 6.6C2 2 3.6 2 5 5s3 3 4.4-1.6l-1.2-.4C7.2 6 6.7 6 6 4.4 4.4.8 1.5.8-.6 6.2z", tint: 0.07 },
  cache: {
    glyph:
      "M1 2.2C1 .4 9 .4 9 2.2v5.6c0 1.8-8 1.8-8 0zM2.2 3.6v1.2c1.4.7 4.2.7 5.6 0V3.6c-1.6.5-4 .5-5.6 0zm0 2.6v1.3c1.4.7 4.2.7 5.6 0V6.2c-1.6.5-4 .5-5.6 0z",
    tint: 0.07,
  },
  reduce: { glyph: "M.8 1h8.4L5.7 5.4V9H4.3V5.4z", tint: 0.07 },
  lookup: {
    glyph: "M1 1h8v1.3H1zM1 4.3h3v1.3H1zM1 7.7h8V9H1zM9 5 6 3.2v1.2H4.6v1.2H6v1.2z",
    tint: 0.07,
  },
  signal: { glyph: "M1 5h1v4H1zM3.3 1h1v8h-1zM5.6 3h1v6h-1zM8 6h1v3H8z", tint: 0.07 },
  elementwise: { glyph: "M4.3 1h1.4v3.3H9v1.4H5.7V9H4.3V5.7H1V4.3h3.3z", tint: 0.03 },
  control: { glyph: "M5 .6 9.4 5 5 9.4.6 5zM5 2.6 2.6 5 5 7.4 7.4 5z", tint: 0.03 },
  shape: { glyph: "M1 1h5v1.2H2.2V6H1zM9 9H4V7.8h3.8V4H9z", tint: 0 },
  input: { glyph: "M4.3 1h1.4v4.2h2L5 9 2.3 5.2h2z", tint: 0 },
  other: { glyph: "M3.6 3.6h2.8v2.8H3.6z", tint: 0 },
};

export const kindLook = (kind: OpKind): KindLook => LOOKS[kind];

/** Kinds of the ops that a graph draws, those that do the work first, with their numbers. */
export function kindCounts(
  hidden: Uint8Array,
  kinds: Uint8Array,
): readonly { readonly kind: OpKind; readonly ops: number }[] {
  const counts = new Uint32Array(OP_KINDS.length);
  for (let node = 0; node < kinds.length; node++) {
    const kind = kinds[node] ?? 0;
    if (hidden[node] === 0) counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return OP_KINDS.flatMap((kind, i) => ((counts[i] ?? 0) === 0 ? [] : [{ kind, ops: counts[i] ?? 0 }]));
}
