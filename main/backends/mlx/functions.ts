/**
 * The functions that a plan may call, by name. A test checks that the addon has exactly these (native/src/mlx/calls).
 * Operands and results are MLX arrays; a packed weight is taken by linear, linear_grouped, take and dequantize only.
 */
export const MLX_FUNCTIONS = [
  "abs",
  "arccos",
  "arccosh",
  "arcsin",
  "arcsinh",
  "arctan",
  "arctanh",
  "ceil",
  "cos",
  "cosh",
  "erf",
  "exp",
  "expm1",
  "floor",
  "isfinite",
  "isnan",
  "log",
  "log1p",
  "negative",
  "reciprocal",
  "rsqrt",
  "sigmoid",
  "sign",
  "sin",
  "sinh",
  "sqrt",
  "square",
  "tan",
  "tanh",
  "trunc",
  "round",
  "relu",
  "silu",
  "gelu",
  "gelu_tanh",
  "add",
  "subtract",
  "multiply",
  "divide", // whole numbers: towards zero, by zero is 0
  "power",
  "arctan2",
  "mod", // C fmod: the sign of the first; whole numbers by zero are 0
  "bitwise_and",
  "bitwise_or",
  "bitwise_xor",
  "bitwise_invert",
  "left_shift", // a count outside the bits of the type moves all of them out
  "right_shift",
  "maximum",
  "minimum",
  "logical_and",
  "logical_or",
  "logical_not",
  "equal",
  "not_equal",
  "less",
  "less_equal",
  "greater",
  "greater_equal",
  "where",
  "cast", // floats to whole numbers truncate and saturate
  "reshape",
  "transpose", // perm
  "broadcast",
  "narrow", // axis, start
  "slice", // axis, start, step
  "reverse", // axes
  "split", // axis
  "concatenate", // axis
  "iota", // axis
  "take", // axis, checked
  "scatter_add", // axis, checked
  "take_places", // the indices' last axis names the first axes
  "take_along", // axis, checked
  "scatter_places", // adds
  "scatter_along", // axis, adds, checked
  "sum", // axes
  "mean",
  "max",
  "min",
  "prod",
  "argmax", // axis
  "argmin", // axis
  "cumsum", // axis, exclusive, reverse
  "cumprod", // axis, reverse
  "cummax",
  "sort", // axis, descending
  "argsort",
  "softmax", // axis
  "topk", // k
  "matmul",
  "linear",
  "linear_grouped", // checked: the experts are indices of a leaf
  "dequantize",
  "dense_solve",
  "triangular_solve", // upper, transposed, unit
  "cholesky",
  "qr",
  "svd",
  "eigh",
  "det",
  "logdet",
  "conv", // strides, padding, dilations, groups
  "conv_transpose", // strides, padding, dilations, groups
  "pool_max", // kernel, strides, padding
  "pool_mean",
  "pool_sum",
  "pool_min",
  "pool_prod",
  "rms_norm", // eps
  "layer_norm", // eps
  "attention", // scale, mode
  "cache_mask", // window, ring
  "window_mask", // window, symmetric
  "distance_bias", // slopes, ring
  "additive_mask",
  "append", // checked, ring
  "rope_tables", // frequencies, magnitude
  "rope", // dims, pairs
  "rope_fast", // dims, pairs, frequencies
  "philox",
  "fft", // inverse, norm
  "to_complex",
  "from_complex",
  "lstm", // hidden, layers, bidirectional
  "gated_delta",
  "selective_scan", // before
  "wkv7",
  "if", // yes, no
  "while", // condition, body, carried (all operands), most
  "scan", // body, carried, rows (operands before them), scanned, length, reverse
] as const;

export type MlxFunction = (typeof MLX_FUNCTIONS)[number];
