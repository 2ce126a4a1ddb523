/** What the operands and results of each op are called: the words of the op's own summary, in the order of its operands. */

export interface OperandNames {
  readonly inputs: readonly string[];
  readonly outputs?: readonly string[];
}

const X = { inputs: ["x"] } as const;
const TWO = { inputs: ["left", "right"] } as const;

/** Variadic ops number theirs. */
export const OPERANDS: { readonly [op: string]: OperandNames } = {
  attention: { inputs: ["query", "key", "value", "mask"] },
  attention_cached: { inputs: ["query", "key cache", "value cache", "past"] },
  kv_append: { inputs: ["cache", "new rows", "past"], outputs: ["cache"] },
  rope: { inputs: ["x", "cosines", "sines"] },
  rope_table: { inputs: ["positions", "factors"], outputs: ["cosines", "sines"] },
  add: TWO,
  compare: TWO,
  div: { inputs: ["dividend", "divisor"] },
  maximum: TWO,
  minimum: TWO,
  mul: TWO,
  pow: { inputs: ["base", "exponent"] },
  sub: TWO,
  attention_block: {
    inputs: [
      "query",
      "key",
      "value",
      "cosines",
      "sines",
      "key cache",
      "value cache",
      "past",
      "query gamma",
      "key gamma",
    ],
    outputs: ["result", "key cache", "value cache"],
  },
  dequantize: { inputs: ["packed weight"] },
  linear: { inputs: ["x", "weight", "bias"] },
  matmul: TWO,
  dot_general: TWO,
  conv: { inputs: ["image", "weight"] },
  conv_transpose: { inputs: ["image", "weight"] },
  pool: { inputs: ["image"] },
  layer_norm: { inputs: ["x", "gamma", "beta"] },
  layer_norm2d: { inputs: ["image", "gamma", "beta"] },
  group_norm: { inputs: ["x", "gamma", "beta"] },
  batch_norm_inference: { inputs: ["x", "gamma", "beta", "mean", "variance"] },
  rms_norm: { inputs: ["x", "gamma", "beta"] },
  argmax: { inputs: ["x"], outputs: ["position"] },
  argmin: { inputs: ["x"], outputs: ["position"] },
  cumsum: X,
  reduce: X,
  softmax: X,
  topk: { inputs: ["x"], outputs: ["values", "positions"] },
  cast: X,
  expand: X,
  gather: { inputs: ["table", "indices"] },
  iota: { inputs: [] },
  narrow: X,
  reshape: X,
  reverse: X,
  resize_nearest2x: { inputs: ["image"] },
  scatter_add: { inputs: ["updates", "indices"] },
  split: X,
  transpose: X,
  where: { inputs: ["condition", "if true", "if false"] },
  fft: X,
  lstm: {
    inputs: ["x", "input weight", "state weight", "bias", "first hidden", "first cell"],
    outputs: ["sequence", "hidden", "cell"],
  },
  abs: X,
  cos: X,
  erf: X,
  exp: X,
  floor: X,
  gelu: X,
  log: X,
  neg: X,
  relu: X,
  round: X,
  rsqrt: X,
  sigmoid: X,
  sign: X,
  silu: X,
  sin: X,
  sqrt: X,
  stop_gradient: X,
  tanh: X,
};

export const inputLabel = (op: string, index: number): string => OPERANDS[op]?.inputs[index] ?? `operand ${index + 1}`;

export const outputLabel = (op: string, index: number, count: number): string =>
  OPERANDS[op]?.outputs?.[index] ?? (count === 1 ? "result" : `result ${index + 1}`);
