/**
 * Predicted seconds, as a range, of what a unit of a machine computes and moves: the larger of arithmetic and memory, each against
 * what programs reach of the unit's rate. All times of the window, the command line and the advice are sums of these.
 */
import type { ComputeUnit, Machine, Reach } from "./machines.ts";

/** `low` and `high` are for what programs reach at best and at least. */
export interface Seconds {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export const NO_TIME: Seconds = { value: 0, low: 0, high: 0 };

export const sumOf = (parts: readonly Seconds[]): Seconds => {
  let [value, low, high] = [0, 0, 0];
  for (const part of parts) {
    value += part.value;
    low += part.low;
    high += part.high;
  }
  return { value, low, high };
};

export const times = ({ value, low, high }: Seconds, factor: number): Seconds => ({
  value: value * factor,
  low: low * factor,
  high: high * factor,
});

/** What a piece of work asks of a unit. */
export interface Work {
  readonly bytes: number;
  readonly flops: number;
}

const middle = ({ low, high }: Reach): number => (low + high) / 2;

/** Seconds of the slower of both; without the time that it takes to start it. */
export function workSeconds({ bandwidth, rate }: Machine, unit: ComputeUnit, { bytes, flops }: Work): Seconds {
  const memory = bandwidth[unit];
  const arithmetic = rate[unit];
  const of = (pick: (reach: Reach) => number): number =>
    Math.max(bytes / (memory.perSecond * pick(memory.reach)), flops / (arithmetic.perSecond * pick(arithmetic.reach)));
  return { value: of(middle), low: of(({ high }) => high), high: of(({ low }) => low) };
}

/** A floor that was measured: it may take up to twice as long. */
export const floorSeconds = (seconds: number): Seconds => ({ value: seconds, low: seconds, high: 2 * seconds });

/** Columns over the nodes of a graph. */
export class SecondsColumns {
  readonly value: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;

  constructor(count: number) {
    this.value = new Float64Array(count);
    this.low = new Float64Array(count);
    this.high = new Float64Array(count);
  }

  add(node: number, seconds: Seconds, share = 1): void {
    this.value[node] = (this.value[node] as number) + seconds.value * share;
    this.low[node] = (this.low[node] as number) + seconds.low * share;
    this.high[node] = (this.high[node] as number) + seconds.high * share;
  }

  at(node: number): Seconds {
    return { value: this.value[node] ?? 0, low: this.low[node] ?? 0, high: this.high[node] ?? 0 };
  }
}
