/** Numbers on the grid of a few bits: whole numbers from −most to most, times a step. */
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { at, broadcastData, roundHalfEven } from "./host.ts";

export interface BitsAttrs {
  readonly bits: number;
}
/** One sign and no bits would be a grid of 0 alone. */
export const bitsSchema = { bits: attr.int(2, 16) } as const;

export const mostOf = (bits: number): number => 2 ** (bits - 1) - 1;

/** The step whose grid ends at a number; where all are 0, or smaller than the type can divide, any step rounds them to 0. */
export function stepTo(largest: number, bits: number): number {
  const step = largest / mostOf(bits);
  return step > 0 ? step : 1;
}

/** Held within so many steps on both sides. */
export function onGrid(x: HostTensor, step: HostTensor, most: number): HostTensor {
  const steps = broadcastData(step, x.shape);
  const made = x.data.map((value, i) => {
    const own = at(steps, i);
    return Math.min(Math.max(roundHalfEven(value / own), -most), most) * own;
  });
  return hostTensor(x.dtype, x.shape, made);
}

/** Rounding goes straight through, so the gradient is that of the clamp: none for what lies beyond. */
export function gridParts(g: OpBuilder, x: Value, step: Value, bits: number): Value {
  const most = mostOf(bits);
  return g.mul([g.round([g.clamp([g.div([x, step])], { low: -most, high: most })]), step]);
}
