/** Lion (Chen et al. 2023): the sign of a mix of momentum and gradient. */
import { average } from "../algebra.ts";
import { decayed } from "./adam.ts";
import type { Optimizer } from "./optimizer.ts";
import { DECAY, NOT_NEGATIVE, of, readOptions, zeros } from "./optimizer.ts";

export interface LionOptions {
  readonly beta1?: number;
  readonly beta2?: number;
  readonly weightDecay?: number;
}

const DEFAULTS = { beta1: 0.9, beta2: 0.99, weightDecay: 0.01 };
const RULES = { beta1: DECAY, beta2: DECAY, weightDecay: NOT_NEGATIVE } as const;

/** θ −= lr (sign(β1 m + (1 − β1) g) + λ θ); m = β2 m + (1 − β2) g. λ is 0.001 in optax and 0 in MLX. */
export function lion(given: LionOptions = {}): Optimizer {
  const options = readOptions<typeof DEFAULTS>("lion", DEFAULTS, given, RULES);
  return {
    name: "lion",
    options,
    slots: (shape) => [zeros("momentum", shape)],
    scalars: ({ learningRate }) => ({ learningRate }),
    update(a, all) {
      const before = of(all.slots, "momentum");
      const step = a.sign(average(a, before, all.gradient, options.beta1));
      const momentum = average(a, before, all.gradient, options.beta2);
      return { parameter: decayed(a, all, step, options.weightDecay), slots: { momentum } };
    },
  };
}
