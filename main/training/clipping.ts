/** Gradients made shorter, over the algebra: on the host or in the graph of a step. */
import type { Algebra } from "./algebra.ts";
import { clamp, square } from "./algebra.ts";

export interface Clipping {
  /** Most that all gradients together may be long: they are scaled to it (Pascanu et al. 2013). */
  readonly norm?: number;
  /** Most that a single number may be; applied before the norm. */
  readonly value?: number;
}

export function clipped<T>(a: Algebra<T>, gradients: readonly T[], { norm, value }: Clipping): readonly T[] {
  const limited = value === undefined ? gradients : gradients.map((one) => clamp(a, one, a.scalar(value)));
  if (norm === undefined) return limited;
  const length = globalNorm(a, limited);
  // max keeps a length of zero from dividing by it.
  const factor = a.div(a.scalar(norm), a.max(length, a.scalar(norm)));
  return limited.map((one) => a.mul(one, factor));
}

/** The length of all gradients as one vector. */
export function globalNorm<T>(a: Algebra<T>, gradients: readonly T[]): T {
  const squares = gradients.map((one) => a.sum(square(a, one)));
  return a.sqrt(squares.reduce((sum, one) => a.add(sum, one), a.scalar(0)));
}
