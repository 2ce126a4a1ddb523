/** One parameter's update in float64, with the slots that it keeps: an optimiser as plain TypeScript. */
import type { HostArray } from "./hostAlgebra.ts";
import { filledArray, hostAlgebra, hostArray } from "./hostAlgebra.ts";
import type { Optimizer, Slot, StepFacts } from "./optimisers/optimizer.ts";

export type HostSlots = Readonly<Record<string, HostArray>>;

export interface HostState {
  readonly parameter: HostArray;
  readonly slots: HostSlots;
}

/** What a slot holds before the first step. */
function initialSlot({ shape, initial }: Slot, parameter: HostArray): HostArray {
  if (initial === "zeros") return filledArray(shape, 0);
  if (initial === "parameter") return hostArray(shape, parameter.data.slice());
  return hostAlgebra.identity(shape[0] ?? 1);
}

export const startOf = (optimizer: Optimizer, parameter: HostArray): HostState => ({
  parameter,
  slots: Object.fromEntries(
    optimizer.slots(parameter.shape).map((slot) => [slot.name, initialSlot(slot, parameter)] as const),
  ),
});

export function updateOnHost(
  optimizer: Optimizer,
  { parameter, slots }: HostState,
  gradient: HostArray,
  facts: StepFacts,
  curvature?: HostArray,
): HostState {
  const scalars = Object.fromEntries(
    Object.entries(optimizer.scalars(facts)).map(([name, value]) => [name, hostAlgebra.scalar(value)]),
  );
  return optimizer.update(hostAlgebra, {
    parameter,
    gradient,
    slots,
    scalars,
    ...(curvature === undefined ? {} : { curvature }),
  });
}
