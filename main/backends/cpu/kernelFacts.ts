/** What lowering must know of kernels: which operands may stay half or packed, and which results may reuse an operand's memory. */
import type { DraftKernel } from "./draft.ts";

/**
 * "all", "matrices" (every second operand from the fourth on), or the operands that the kernel reads in any element type;
 * the others are cast to f32 when they are half floats.
 */
const ANY_TYPE: { readonly [K in DraftKernel]?: "all" | "matrices" | readonly number[] } = {
  where: "all",
  elementwise_region: "all",
  cast: "all",
  copy: "all",
  transpose: "all",
  expand: "all",
  narrow: "all",
  concat: "all",
  pad: "all",
  slice: "all",
  fill: "all",
  gather: "all",
  gather_nd: "all",
  gather_elements: "all",
  dequantize: "all",
  linear: [1],
  linear_block: "matrices",
  kv_append: [0, 1],
  attention: [1, 2],
  attention_block: [7, 8],
};

export function takesAnyType(kernel: DraftKernel, operand: number): boolean {
  const operands = ANY_TYPE[kernel];
  if (operands === "matrices") return operand >= 3 && operand % 2 === 1;
  return operands === "all" || (operands?.includes(operand) ?? false);
}

/** Results of half floats that the kernel writes itself. */
export const writesAnyType = (kernel: DraftKernel, result: number): boolean =>
  ANY_TYPE[kernel] === "all" ||
  inPlace(kernel).some((pair) => pair.output === result && takesAnyType(kernel, pair.input));

export interface InPlacePair {
  readonly output: number;
  readonly input: number;
}

const IN_PLACE: { readonly [K in DraftKernel]?: readonly InPlacePair[] } = {
  kv_append: [{ output: 0, input: 0 }],
  attention_block: [
    { output: 1, input: 7 },
    { output: 2, input: 8 },
  ],
  short_conv: [{ output: 1, input: 1 }],
  gated_delta: [{ output: 1, input: 5 }],
  selective_scan: [{ output: 1, input: 5 }],
  wkv7: [{ output: 1, input: 6 }],
};

/** Results that may be the same memory as an operand. */
export const inPlace = (kernel: DraftKernel): readonly InPlacePair[] => IN_PLACE[kernel] ?? [];

/** Element by element, so that a result may lie where an operand of its type and shape lay. */
const ELEMENTWISE: ReadonlySet<DraftKernel> = new Set([
  ...(["add", "sub", "mul", "div", "max", "min", "pow", "mod", "atan2"] as const),
  ...(["neg", "abs", "sign", "square", "sqrt", "rsqrt", "reciprocal", "exp", "log", "sin", "cos", "tanh"] as const),
  ...(["sigmoid", "silu", "gelu", "gelu_tanh", "relu", "elu", "leaky_relu", "softplus", "erf"] as const),
  ...(["floor", "ceil", "trunc", "round", "where", "elementwise_region"] as const),
]);
export const isElementwise = (kernel: DraftKernel): boolean => ELEMENTWISE.has(kernel);
