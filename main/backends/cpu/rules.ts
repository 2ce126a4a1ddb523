/**
 * How the CPU backend's own ops lay out their operands. The fusions write the layout, the op files read it:
 * it is told here once.
 */
import { invariant } from "../../diagnostics/errors.ts";
import type { AttrRecord } from "../../ir/attributes.ts";

/** Of `linear_block`. Its operands: x, gamma (with a norm), residual (with one), then each weight and its bias. */
export interface LinearBlockAttrs {
  /** Of the RMS norm of x; absent without a norm. */
  readonly eps?: number;
  readonly residual: boolean;
  /** Products come in pairs, gate and up: a result is silu(gate) · up. */
  readonly gated: boolean;
  /** For each product 1 if its weight is followed by a bias, else 0. */
  readonly biases: readonly number[];
}

export interface LinearProduct<T> {
  readonly weight: T;
  readonly bias: T | undefined;
}

/** The same by name. */
export interface LinearBlock<T> {
  readonly x: T;
  readonly norm: { readonly gamma: T; readonly eps: number } | undefined;
  readonly residual: T | undefined;
  readonly gated: boolean;
  readonly products: readonly LinearProduct<T>[];
}

/** How many operands a node with these attributes has. */
export const linearBlockOperands = ({ eps, residual, biases }: LinearBlockAttrs): number =>
  1 + Number(eps !== undefined) + Number(residual) + biases.length + biases.reduce((sum, bias) => sum + bias, 0);

/** The attributes were checked when the node was built. */
export function openLinearBlock<T>(operands: readonly T[], attrs: AttrRecord): LinearBlock<T> {
  const { eps, residual, gated, biases } = attrs;
  let at = 0;
  const next = (): T => {
    const value = operands[at++];
    invariant(value !== undefined, "[linear_block] an operand is missing");
    return value;
  };
  return {
    x: next(),
    norm: typeof eps === "number" ? { gamma: next(), eps } : undefined,
    residual: residual === true ? next() : undefined,
    gated: gated === true,
    products: (Array.isArray(biases) ? biases : []).map((bias) => ({
      weight: next(),
      bias: bias === 1 ? next() : undefined,
    })),
  };
}

export const closeLinearBlock = <T>({
  x,
  norm,
  residual,
  gated,
  products,
}: LinearBlock<T>): { readonly operands: readonly T[]; readonly attrs: LinearBlockAttrs } => ({
  operands: [
    x,
    ...(norm === undefined ? [] : [norm.gamma]),
    ...(residual === undefined ? [] : [residual]),
    ...products.flatMap(({ weight, bias }) => (bias === undefined ? [weight] : [weight, bias])),
  ],
  attrs: {
    ...(norm === undefined ? {} : { eps: norm.eps }),
    residual: residual !== undefined,
    gated,
    biases: products.map(({ bias }) => (bias === undefined ? 0 : 1)),
  },
});
