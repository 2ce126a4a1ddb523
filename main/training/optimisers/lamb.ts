/** LAMB (You et al. 2020): Adam's step, made as long as the parameter is. */
import type { Algebra } from "../algebra.ts";
import { norm, scale } from "../algebra.ts";
import type { AdamOptions } from "./adam.ts";
import { corrections, decayed, denominator, moments, nextMoments } from "./adam.ts";
import type { Optimizer } from "./optimizer.ts";
import { DECAY, NOT_NEGATIVE, POSITIVE, of, readOptions } from "./optimizer.ts";

const DEFAULTS = { beta1: 0.9, beta2: 0.999, epsilon: 1e-6, weightDecay: 0.01, biasCorrection: true };
const RULES = {
  beta1: DECAY,
  beta2: DECAY,
  epsilon: POSITIVE,
  weightDecay: NOT_NEGATIVE,
  biasCorrection: "flag",
} as const;

/** u = m̂ / (√v̂ + ε) + λ θ; θ −= lr · ‖θ‖ / ‖u‖ · u. The ratio is 1 where a norm is 0, and is not clipped. */
export function lamb(given: AdamOptions = {}): Optimizer {
  const options = readOptions<typeof DEFAULTS>("lamb", DEFAULTS, given, RULES);
  return {
    name: "lamb",
    options,
    slots: moments,
    scalars: (facts) => ({ learningRate: facts.learningRate, ...corrections(facts, options) }),
    update(a, all) {
      const { parameter, gradient, slots, scalars } = all;
      const { first, second } = nextMoments(a, slots, gradient, options);
      const plain = a.div(a.mul(first, of(scalars, "ofFirst")), denominator(a, second, scalars, options.epsilon));
      const step = a.add(plain, scale(a, parameter, options.weightDecay));
      const ratio = ratioOf(a, norm(a, parameter), norm(a, step));
      return { parameter: decayed(a, all, a.mul(step, ratio), 0), slots: { first, second } };
    },
  };
}

/** upper / lower, and 1 where one of them is 0. */
function ratioOf<T>(a: Algebra<T>, upper: T, lower: T): T {
  const zero = a.scalar(0);
  const both = a.mul(a.greater(upper, zero), a.greater(lower, zero));
  const neither = a.sub(a.scalar(1), both);
  return a.add(a.mul(both, a.div(upper, a.add(lower, neither))), neither);
}
