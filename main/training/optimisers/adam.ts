/**
 * Adam (Kingma and Ba 2015) and those that differ from it in one place: AdamW (Loshchilov and Hutter 2019, decay beside the
 * step, not in the gradient), NAdamW (Dozat 2016, Nesterov's look ahead in the first moment), RAdam (Liu et al. 2020, the
 * step's variance rectified) and QHAdamW (Ma and Yarats 2019, a mix of gradient and moments).
 */
import type { Algebra } from "../algebra.ts";
import { average, scale, square } from "../algebra.ts";
import type { Given, Optimizer, StepFacts } from "./optimizer.ts";
import { DECAY, NOT_NEGATIVE, POSITIVE, of, readOptions, zeros } from "./optimizer.ts";

export interface AdamOptions {
  readonly beta1?: number;
  readonly beta2?: number;
  readonly epsilon?: number;
  readonly weightDecay?: number;
  /** Divide the moments by 1 − β^t. MLX leaves that out; the paper does not. */
  readonly biasCorrection?: boolean;
}

const DEFAULTS = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, biasCorrection: true };
const RULES = {
  beta1: DECAY,
  beta2: DECAY,
  epsilon: POSITIVE,
  weightDecay: NOT_NEGATIVE,
  biasCorrection: "flag",
} as const;
type Chosen = typeof DEFAULTS;

export const moments = (shape: readonly number[]): ReturnType<Optimizer["slots"]> => [
  zeros("first", shape),
  zeros("second", shape),
];

/** The two moments after this gradient. */
export function nextMoments<T>(
  a: Algebra<T>,
  slots: Given<T>["slots"],
  gradient: T,
  { beta1, beta2 }: Pick<Chosen, "beta1" | "beta2">,
): { readonly first: T; readonly second: T } {
  return {
    first: average(a, of(slots, "first"), gradient, beta1),
    second: average(a, of(slots, "second"), square(a, gradient), beta2),
  };
}

/** 1 / (1 − β^t) of both moments. */
export const corrections = (
  { step }: StepFacts,
  { beta1, beta2, biasCorrection = true }: { beta1: number; beta2: number; biasCorrection?: boolean },
): { readonly ofFirst: number; readonly ofSecond: number } => ({
  ofFirst: biasCorrection ? 1 / (1 - beta1 ** step) : 1,
  ofSecond: biasCorrection ? 1 / (1 - beta2 ** step) : 1,
});

/** √v̂ + ε */
export const denominator = <T>(a: Algebra<T>, second: T, scalars: Given<T>["scalars"], epsilon: number): T =>
  a.add(a.sqrt(a.mul(second, of(scalars, "ofSecond"))), a.scalar(epsilon));

/** θ − lr (step + λ θ) */
export function decayed<T>(a: Algebra<T>, { parameter, scalars }: Given<T>, step: T, weightDecay: number): T {
  const whole = weightDecay === 0 ? step : a.add(step, scale(a, parameter, weightDecay));
  return a.sub(parameter, a.mul(whole, of(scalars, "learningRate")));
}

/** Adam. `weightDecay` adds λ θ to the gradient (L2), as the paper's time had it; see `adamw`. */
export function adam(given: AdamOptions = {}): Optimizer {
  const options = readOptions<Chosen>("adam", DEFAULTS, given, RULES);
  return {
    ...family("adam", options),
    update(a, all) {
      const { weightDecay, epsilon } = options;
      const { parameter, gradient, slots, scalars } = all;
      const g = weightDecay === 0 ? gradient : a.add(gradient, scale(a, parameter, weightDecay));
      const { first, second } = nextMoments(a, slots, g, options);
      const step = a.div(a.mul(first, of(scalars, "ofFirst")), denominator(a, second, scalars, epsilon));
      return { parameter: decayed(a, all, step, 0), slots: { first, second } };
    },
  };
}

/** AdamW: θ −= lr (m̂ / (√v̂ + ε) + λ θ). λ is 0.01, as in PyTorch; optax has 0.0001. */
export function adamw(given: AdamOptions = {}): Optimizer {
  const options = readOptions<Chosen>("adamw", { ...DEFAULTS, weightDecay: 0.01 }, given, RULES);
  return {
    ...family("adamw", options),
    update(a, all) {
      const { first, second } = nextMoments(a, all.slots, all.gradient, options);
      const step = a.div(
        a.mul(first, of(all.scalars, "ofFirst")),
        denominator(a, second, all.scalars, options.epsilon),
      );
      return { parameter: decayed(a, all, step, options.weightDecay), slots: { first, second } };
    },
  };
}

/**
 * NAdamW: AdamW with m̄ = β1 m / (1 − β1^(t+1)) + (1 − β1) g / (1 − β1^t), as Dozat's report and optax have it. PyTorch's
 * NAdam has a momentum that changes with t as well; it is not offered.
 */
export function nadamw(given: AdamOptions = {}): Optimizer {
  const options = readOptions<Chosen>("nadamw", { ...DEFAULTS, weightDecay: 0.01 }, given, RULES);
  const { beta1, biasCorrection } = options;
  return {
    ...family("nadamw", options),
    scalars: (facts) => {
      const { step, learningRate } = facts;
      const ahead = biasCorrection ? beta1 / (1 - beta1 ** (step + 1)) : beta1;
      const now = biasCorrection ? (1 - beta1) / (1 - beta1 ** step) : 1 - beta1;
      return { learningRate, ahead, now, ofSecond: corrections(facts, options).ofSecond };
    },
    update(a, all) {
      const { gradient, slots, scalars } = all;
      const { first, second } = nextMoments(a, slots, gradient, options);
      const mixed = a.add(a.mul(first, of(scalars, "ahead")), a.mul(gradient, of(scalars, "now")));
      const step = a.div(mixed, denominator(a, second, scalars, options.epsilon));
      return { parameter: decayed(a, all, step, options.weightDecay), slots: { first, second } };
    },
  };
}

export interface RAdamOptions extends AdamOptions {
  /** The rectified step is taken where ρ is above this: 4 in the paper, 5 in PyTorch and optax. */
  readonly threshold?: number;
}

/** RAdam: lr · r · m̂ / (√v̂ + ε) where ρ_t is above the threshold, else lr · m̂. `weightDecay` goes into the gradient. */
export function radam(given: RAdamOptions = {}): Optimizer {
  const defaults = { ...DEFAULTS, threshold: 4 };
  const rules = { ...RULES, threshold: { least: 4 } } as const;
  const options = readOptions<typeof defaults>("radam", defaults, given, rules);
  const { beta2, weightDecay, epsilon, threshold } = options;
  const most = 2 / (1 - beta2) - 1;
  return {
    ...family("radam", options),
    scalars: (facts) => {
      const power = beta2 ** facts.step;
      const rho = most - (2 * facts.step * power) / (1 - power);
      const isRectified = rho > threshold;
      const rectifier = isRectified ? Math.sqrt(((rho - 4) * (rho - 2) * most) / ((most - 4) * (most - 2) * rho)) : 0;
      const plain = isRectified ? 0 : 1;
      return { learningRate: facts.learningRate, rectifier, plain, ...corrections(facts, options) };
    },
    update(a, all) {
      const { parameter, gradient, slots, scalars } = all;
      const g = weightDecay === 0 ? gradient : a.add(gradient, scale(a, parameter, weightDecay));
      const { first, second } = nextMoments(a, slots, g, options);
      const corrected = a.mul(first, of(scalars, "ofFirst"));
      const rectified = a.mul(a.div(corrected, denominator(a, second, scalars, epsilon)), of(scalars, "rectifier"));
      const step = a.add(rectified, a.mul(corrected, of(scalars, "plain")));
      return { parameter: decayed(a, all, step, 0), slots: { first, second } };
    },
  };
}

export interface QhAdamOptions extends AdamOptions {
  /** How much of the step is the moment, and how much the gradient itself: 1 is all of the moment. */
  readonly nu1?: number;
  readonly nu2?: number;
}

/** QHAdamW: ((1 − ν1) g + ν1 m̂) / (√((1 − ν2) g² + ν2 v̂) + ε), with the paper's advice as defaults. */
export function qhadamw(given: QhAdamOptions = {}): Optimizer {
  const defaults = { ...DEFAULTS, beta1: 0.995, weightDecay: 0.01, nu1: 0.7, nu2: 1 };
  const share = { least: 0, most: 1 } as const;
  const rules = { ...RULES, nu1: share, nu2: share } as const;
  const options = readOptions<typeof defaults>("qhadamw", defaults, given, rules);
  const { nu1, nu2, epsilon, weightDecay } = options;
  return {
    ...family("qhadamw", options),
    update(a, all) {
      const { gradient, slots, scalars } = all;
      const { first, second } = nextMoments(a, slots, gradient, options);
      const upper = average(a, a.mul(first, of(scalars, "ofFirst")), gradient, nu1);
      const lower = average(a, a.mul(second, of(scalars, "ofSecond")), square(a, gradient), nu2);
      const step = a.div(upper, a.add(a.sqrt(lower), a.scalar(epsilon)));
      return { parameter: decayed(a, all, step, weightDecay), slots: { first, second } };
    },
  };
}

const family = <O extends Chosen>(name: string, options: O): Omit<Optimizer, "update"> & { readonly options: O } => ({
  name,
  options,
  slots: moments,
  scalars: (facts) => ({ learningRate: facts.learningRate, ...corrections(facts, options) }),
});
