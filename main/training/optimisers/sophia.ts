/**
 * Sophia-H (Liu et al. 2023): momentum divided by an average of the Hessian's diagonal, and clipped. The session estimates that
 * diagonal by Hutchinson's way, u ⊙ (H u) with random signs u, through the product of the Hessian and a vector. As in the
 * paper, an estimate counts in its own step already; in optax it does from the next one on.
 */
import { average, clamp, scale } from "../algebra.ts";
import { decayed } from "./adam.ts";
import type { Optimizer } from "./optimizer.ts";
import { DECAY, NOT_NEGATIVE, POSITIVE, of, readOptions, zeros } from "./optimizer.ts";

export interface SophiaOptions {
  readonly beta1?: number;
  readonly beta2?: number;
  readonly gamma?: number;
  /** Most that a number of the step may be, in learning rates: 1 in the paper and in optax. */
  readonly clip?: number;
  readonly epsilon?: number;
  readonly weightDecay?: number;
  /** Steps from one estimate of the Hessian to the next; the first step makes one. */
  readonly interval?: number;
  /** Divide the momentum by 1 − β1^t, as optax does; the paper does not. */
  readonly biasCorrection?: boolean;
}

const DEFAULTS = {
  beta1: 0.965,
  beta2: 0.99,
  gamma: 0.01,
  clip: 1,
  epsilon: 1e-12,
  weightDecay: 0.1,
  interval: 10,
  biasCorrection: false,
};
const RULES = {
  beta1: DECAY,
  beta2: DECAY,
  gamma: POSITIVE,
  clip: POSITIVE,
  epsilon: POSITIVE,
  weightDecay: NOT_NEGATIVE,
  interval: { least: 1, whole: true },
  biasCorrection: "flag",
} as const;

/** θ −= lr (clip(m / max(γ h, ε), ±ρ) + λ θ); h = β2 h + (1 − β2) ĥ at every tenth step. */
export function sophia(given: SophiaOptions = {}): Optimizer {
  const options = readOptions<typeof DEFAULTS>("sophia", DEFAULTS, given, RULES);
  const { beta1, beta2, gamma, clip, epsilon, weightDecay, interval, biasCorrection } = options;
  const curvatureAt = (step: number): boolean => (step - 1) % interval === 0;
  return {
    name: "sophia",
    options,
    curvatureAt,
    slots: (shape) => [zeros("momentum", shape), zeros("hessian", shape)],
    scalars: ({ step, learningRate }) => ({
      learningRate,
      ofMomentum: biasCorrection ? 1 / (1 - beta1 ** step) : 1,
      keep: curvatureAt(step) ? beta2 : 1,
      take: curvatureAt(step) ? 1 - beta2 : 0,
    }),
    update(a, all) {
      const { gradient, slots, scalars } = all;
      const momentum = average(a, of(slots, "momentum"), gradient, beta1);
      const kept = a.mul(of(slots, "hessian"), of(scalars, "keep"));
      const hessian = all.curvature === undefined ? kept : a.add(kept, a.mul(all.curvature, of(scalars, "take")));
      const lower = a.max(scale(a, hessian, gamma), a.scalar(epsilon));
      const step = clamp(a, a.div(a.mul(momentum, of(scalars, "ofMomentum")), lower), a.scalar(clip));
      return { parameter: decayed(a, all, step, weightDecay), slots: { momentum, hessian } };
    },
  };
}
