/**
 * MARS (Yuan et al. 2024), in its AdamW form: a gradient corrected by how it changed since the last step, clipped to length 1,
 * then AdamW. The gradient before is the one of the last batch (MARS-approx, the authors' default); the exact form would
 * need a second gradient in every step.
 */
import type { Algebra } from "../algebra.ts";
import { norm } from "../algebra.ts";
import { corrections, decayed, denominator, moments, nextMoments } from "./adam.ts";
import type { Given, Optimizer, Updated } from "./optimizer.ts";
import { DECAY, NOT_NEGATIVE, POSITIVE, of, readOptions, zeros } from "./optimizer.ts";

export interface MarsOptions {
  readonly beta1?: number;
  readonly beta2?: number;
  readonly epsilon?: number;
  readonly weightDecay?: number;
  readonly gamma?: number;
  /** Correct the gradients of vectors, too. Without it they get plain AdamW (0.9, 0.95, λ 0.1), as the authors do it. */
  readonly vectors?: boolean;
}

const DEFAULTS = { beta1: 0.95, beta2: 0.99, epsilon: 1e-8, weightDecay: 0, gamma: 0.025, vectors: false };
const RULES = {
  beta1: DECAY,
  beta2: DECAY,
  epsilon: POSITIVE,
  weightDecay: NOT_NEGATIVE,
  gamma: NOT_NEGATIVE,
  vectors: "flag",
} as const;
const OF_VECTORS = { beta1: 0.9, beta2: 0.95, weightDecay: 0.1 };

/**
 * c = g + γ β1 / (1 − β1) (g − g before), divided by max(1, ‖c‖); AdamW on c, whose second moment is of c too (the README says
 * g², the code and the paper say c²). The first step has no gradient before it: c is g, as x₀ = x₁ in the paper makes it.
 */
export function mars(given: MarsOptions = {}): Optimizer {
  const options = readOptions<typeof DEFAULTS>("mars", DEFAULTS, given, RULES);
  const { beta1, epsilon, weightDecay, gamma, vectors } = options;
  const corrects = (shape: readonly number[]): boolean => vectors || shape.length >= 2;
  return {
    name: "mars",
    options,
    slots: (shape) => (corrects(shape) ? [...moments(shape), zeros("before", shape)] : moments(shape)),
    scalars: (facts) => {
      const plain = corrections(facts, OF_VECTORS);
      const change = facts.step === 1 ? 0 : (gamma * beta1) / (1 - beta1);
      const vector = { vectorFirst: plain.ofFirst, vectorSecond: plain.ofSecond };
      return { learningRate: facts.learningRate, change, ...corrections(facts, options), ...vector };
    },
    update(a, all) {
      const { parameter, gradient, slots, scalars } = all;
      if (!corrects(a.shapeOf(parameter))) return ofVector(a, all, epsilon);
      const changed = a.mul(a.sub(gradient, of(slots, "before")), of(scalars, "change"));
      const whole = a.add(gradient, changed);
      const corrected = a.div(whole, a.max(a.scalar(1), norm(a, whole)));
      const { first, second } = nextMoments(a, slots, corrected, options);
      const step = a.div(a.mul(first, of(scalars, "ofFirst")), denominator(a, second, scalars, epsilon));
      return { parameter: decayed(a, all, step, weightDecay), slots: { first, second, before: gradient } };
    },
  };
}

function ofVector<T>(a: Algebra<T>, all: Given<T>, epsilon: number): Updated<T> {
  const { gradient, slots, scalars } = all;
  const { first, second } = nextMoments(a, slots, gradient, OF_VECTORS);
  const root = a.sqrt(a.mul(second, of(scalars, "vectorSecond")));
  const step = a.div(a.mul(first, of(scalars, "vectorFirst")), a.add(root, a.scalar(epsilon)));
  return { parameter: decayed(a, all, step, OF_VECTORS.weightDecay), slots: { first, second } };
}
