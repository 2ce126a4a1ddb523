/**
 * Which device runs which operator: the cheapest walk through the program in order, where each operator costs what its
 * device needs for it, a change of device costs a launch and a transfer. Core ML decides in the same way (a shortest path
 * over operators and backends), with cost functions of its own.
 */

export const DEVICES = ["ane", "gpu", "cpu"] as const;
export type PlacedDevice = (typeof DEVICES)[number];
export const DEVICE_NAMES: { readonly [D in PlacedDevice]: string } = {
  ane: "Neural Engine",
  gpu: "GPU",
  cpu: "CPU",
};

/** Milliseconds. Index = position in DEVICES. */
export interface PlacementProblem {
  readonly count: number;
  /** Operator by operator, one per device; Infinity = not eligible. */
  readonly costs: Float64Array;
  /** Bytes that would cross if the device changed before operator i. */
  readonly cutBytes: Float64Array;
  /** Cost of the first operator of a run on a device. */
  readonly launch: readonly number[];
  /** Fixed cost of moving values onto a device. */
  readonly transfer: readonly number[];
  readonly bytesPerMs: number;
}

/** Cost of changing from one device to another before operator i. */
export function switchCost(problem: PlacementProblem, i: number, to: number): number {
  return (problem.launch[to] ?? 0) + (problem.transfer[to] ?? 0) + (problem.cutBytes[i] ?? 0) / problem.bytesPerMs;
}

export interface Placement {
  /** Index into DEVICES per operator. */
  readonly devices: Uint8Array;
  readonly cost: number;
}

/** Dynamic programming over operators in order: linear in their number. */
export function place(problem: PlacementProblem): Placement {
  const { costs, count } = problem;
  const width = problem.launch.length;
  const devices = new Uint8Array(count);
  if (count === 0) return { devices, cost: 0 };
  const from = new Uint8Array(count * width);
  let best = Float64Array.from({ length: width }, (_, d) => (problem.launch[d] ?? 0) + (costs[d] ?? Infinity));
  let next = new Float64Array(width);
  for (let i = 1; i < count; i++) {
    // Staying is free; a change comes from the cheapest other device.
    for (let d = 0; d < width; d++) {
      let least = best[d] as number;
      let origin = d;
      const change = switchCost(problem, i, d);
      for (let p = 0; p < width; p++) {
        const total = (best[p] as number) + change;
        if (p !== d && total < least) {
          least = total;
          origin = p;
        }
      }
      from[i * width + d] = origin;
      next[d] = least + (costs[i * width + d] as number);
    }
    [best, next] = [next, best];
  }
  let device = best.reduce((at, cost, d) => (cost < (best[at] as number) ? d : at), 0);
  const cost = best[device] as number;
  for (let i = count - 1; i >= 0; i--) {
    devices[i] = device;
    device = from[i * width + device] as number;
  }
  return { devices, cost };
}

/** Total cost of an assignment: the definition that `place` minimises. */
export function costOf(problem: PlacementProblem, devices: ArrayLike<number>): number {
  const width = problem.launch.length;
  let total = 0;
  for (let i = 0; i < problem.count; i++) {
    const d = devices[i] as number;
    if (i === 0) total += problem.launch[d] ?? 0;
    else if (d !== devices[i - 1]) total += switchCost(problem, i, d);
    total += problem.costs[i * width + d] ?? Infinity;
  }
  return total;
}
