/** An exponential average of the weights beside the training: an optimiser around another one. `evaluated` gives the average. */
import { average } from "./algebra.ts";
import type { Optimizer } from "./optimisers/optimizer.ts";
import { of, readOptions } from "./optimisers/optimizer.ts";

const SLOT = "average";

/** a = decay · a + (1 − decay) · θ after every step; it starts at the first weights. */
export function withAverage(optimizer: Optimizer, decay = 0.999): Optimizer {
  const { averageDecay } = readOptions(
    "withAverage",
    { averageDecay: 0.999 },
    { averageDecay: decay },
    {
      averageDecay: { least: 0, below: 1 },
    },
  );
  return {
    ...optimizer,
    options: { ...optimizer.options, averageDecay },
    slots: (shape) => [...optimizer.slots(shape), { name: SLOT, shape, initial: "parameter" }],
    update(a, given) {
      const { parameter, slots } = optimizer.update(a, given);
      return { parameter, slots: { ...slots, [SLOT]: average(a, of(given.slots, SLOT), parameter, averageDecay) } };
    },
    evaluated: (_a, _parameter, slots) => of(slots, SLOT),
  };
}
