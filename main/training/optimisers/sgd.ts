/** Stochastic gradient descent, with momentum as Polyak has it or as Nesterov has it (Sutskever et al. 2013). */
import { scale } from "../algebra.ts";
import type { Optimizer } from "./optimizer.ts";
import { DECAY, NOT_NEGATIVE, of, readOptions, zeros } from "./optimizer.ts";

export interface SgdOptions {
  readonly momentum?: number;
  readonly nesterov?: boolean;
  /** Adds λ θ to the gradient, and so to the momentum. */
  readonly weightDecay?: number;
}

const DEFAULTS = { momentum: 0, nesterov: false, weightDecay: 0 };
const RULES = { momentum: DECAY, nesterov: "flag", weightDecay: NOT_NEGATIVE } as const;

/** v = μ v + g; θ −= lr · v, or lr · (g + μ v) with `nesterov`. */
export function sgd(given: SgdOptions = {}): Optimizer {
  const options = readOptions<typeof DEFAULTS>("sgd", DEFAULTS, given, RULES);
  const { momentum, nesterov, weightDecay } = options;
  return {
    name: "sgd",
    options,
    slots: (shape) => (momentum === 0 ? [] : [zeros("velocity", shape)]),
    scalars: ({ learningRate }) => ({ learningRate }),
    update(a, { parameter, gradient, slots, scalars }) {
      const lr = of(scalars, "learningRate");
      const g = weightDecay === 0 ? gradient : a.add(gradient, scale(a, parameter, weightDecay));
      if (momentum === 0) return { parameter: a.sub(parameter, a.mul(g, lr)), slots: {} };
      const velocity = a.add(scale(a, of(slots, "velocity"), momentum), g);
      const direction = nesterov ? a.add(g, scale(a, velocity, momentum)) : velocity;
      return { parameter: a.sub(parameter, a.mul(direction, lr)), slots: { velocity } };
    },
  };
}
