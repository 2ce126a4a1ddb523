/** The states of a fused graph as one row of numbers, in the order of `statesOf`, and back. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { item, sizeOfShape } from "./algebra.ts";
import type { HostArray } from "./hostAlgebra.ts";
import { hostArray } from "./hostAlgebra.ts";
import type { HostState } from "./hostUpdate.ts";
import type { Planned } from "./stepGraphs.ts";
import { statesOf } from "./stepGraphs.ts";

export function stateAt(states: readonly HostState[], weight: number, slot: string | undefined): HostArray {
  const state = item(states, weight);
  const own = slot === undefined ? state.parameter : state.slots[slot];
  if (own === undefined) throw new WorkbenchError("BUG_INVARIANT", `[training] no slot ${String(slot)}`);
  return own;
}

export function flatStates(plan: readonly Planned[], states: readonly HostState[]): Float32Array {
  const parts = statesOf(plan).map(({ weight, slot }) => stateAt(states, weight, slot).data);
  const flat = new Float32Array(parts.reduce((n, part) => n + part.length, 0));
  parts.reduce((at, part) => (flat.set(part, at), at + part.length), 0);
  return flat;
}

export interface ReadState {
  readonly weight: number;
  readonly slot?: string;
  readonly array: HostArray;
}

export function readStates(plan: readonly Planned[], flat: Float32Array): readonly HostState[] {
  let at = 0;
  const read = statesOf(plan).map(({ weight, slot, shape }): ReadState => {
    const array = hostArray(shape, Float64Array.from(flat.subarray(at, (at += sizeOfShape(shape)))));
    return { weight, array, ...(slot === undefined ? {} : { slot }) };
  });
  return grouped(plan, read);
}

export function grouped(plan: readonly Planned[], read: readonly ReadState[]): readonly HostState[] {
  return plan.map((_, index) => {
    const own = read.filter(({ weight }) => weight === index);
    const slots = own.flatMap(({ slot, array }) => (slot === undefined ? [] : [[slot, array] as const]));
    const [parameter] = own.filter(({ slot }) => slot === undefined).map(({ array }) => array);
    return { parameter: item([parameter], 0), slots: Object.fromEntries(slots) };
  });
}
