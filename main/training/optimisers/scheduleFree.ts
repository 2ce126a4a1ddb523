/**
 * Schedule-free AdamW (Defazio et al. 2024): no schedule, but an average. The trained parameter y stands between a fast
 * sequence z and its average x, and x is what is used: `evaluated` gives it.
 */
import { average, scale, square } from "../algebra.ts";
import type { Optimizer } from "./optimizer.ts";
import { NOT_NEGATIVE, POSITIVE, DECAY, of, readOptions, zeros } from "./optimizer.ts";

export interface ScheduleFreeOptions {
  /** How far y stands from z towards x. */
  readonly beta1?: number;
  readonly beta2?: number;
  readonly epsilon?: number;
  readonly weightDecay?: number;
  /** A step weighs (largest lr so far)^power in the average. */
  readonly weightPower?: number;
}

const DEFAULTS = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, weightPower: 2 };
const RULES = {
  beta1: { above: 0, below: 1 },
  beta2: DECAY,
  epsilon: POSITIVE,
  weightDecay: NOT_NEGATIVE,
  weightPower: { least: 0, most: 4, whole: true },
} as const;

/** A sum of weights in f32 that is not zero where every rate so far was. */
const TINY = 1e-30;

/** u = g / (√v̂ + ε) + λ y; z −= lr u; x = (1 − c) x + c z; y = β1 x + (1 − β1) z, with c = weight / sum of weights. */
export function scheduleFreeAdamw(given: ScheduleFreeOptions = {}): Optimizer {
  const options = readOptions<typeof DEFAULTS>("scheduleFreeAdamw", DEFAULTS, given, RULES);
  const { beta1, beta2, epsilon, weightDecay, weightPower } = options;
  return {
    name: "scheduleFreeAdamw",
    options,
    slots: (shape) => [
      { name: "fast", shape, initial: "parameter" },
      zeros("second", shape),
      zeros("weights", []),
      zeros("largestRate", []),
    ],
    scalars: ({ step, learningRate }) => ({ learningRate, ofSecond: 1 / (1 - beta2 ** step) }),
    update(a, { parameter, gradient, slots, scalars }) {
      const rate = of(scalars, "learningRate");
      const largestRate = a.max(of(slots, "largestRate"), rate);
      let weight = a.scalar(1);
      for (let i = 0; i < weightPower; i++) weight = a.mul(weight, largestRate);
      const weights = a.add(of(slots, "weights"), weight);
      const share = a.div(weight, a.max(weights, a.scalar(TINY)));

      const second = average(a, of(slots, "second"), square(a, gradient), beta2);
      const root = a.sqrt(a.mul(second, of(scalars, "ofSecond")));
      const plain = a.div(gradient, a.add(root, a.scalar(epsilon)));
      const step = a.mul(weightDecay === 0 ? plain : a.add(plain, scale(a, parameter, weightDecay)), rate);

      // y moves to z by its share, and by the step that x and z make: nothing is divided by β1.
      const before = of(slots, "fast");
      const towards = a.add(parameter, a.mul(a.sub(before, parameter), share));
      const own = a.sub(a.scalar(1), scale(a, a.sub(a.scalar(1), share), beta1));
      return {
        parameter: a.sub(towards, a.mul(step, own)),
        slots: { fast: a.sub(before, step), second, weights, largestRate },
      };
    },
    evaluated: (a, parameter, slots) => scale(a, a.sub(parameter, scale(a, of(slots, "fast"), 1 - beta1)), 1 / beta1),
  };
}
