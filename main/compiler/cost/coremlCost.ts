/**
 * The cost of a step of a Core ML program on a machine: each operation where the route puts it, with the weights as the package
 * holds them; each segment with its start; hops, and caches that a call passes, with what they carry.
 */
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { LoweredPart } from "../../backends/coreml/hybrid/loweredGraph.ts";
import type { RouteHop } from "../../backends/coreml/hybrid/segments.ts";
import type { FunctionPlan, PlanRun } from "../../backends/coreml/plan/predict.ts";
import { launchMs, movedOn, TRANSFER, TRANSFER_BYTES_PER_MS } from "../../backends/coreml/plan/predict.ts";
import type { Steps } from "../../ir/steps.ts";
import type { Machine } from "./machines.ts";
import type { Seconds, Work } from "./seconds.ts";
import { floorSeconds, NO_TIME, SecondsColumns, sumOf, workSeconds } from "./seconds.ts";
import type { CostDevice, SegmentCost, StepCost } from "./stepCost.ts";
import { stepCost } from "./stepCost.ts";

type Draft = Omit<SegmentCost, "whole">;

export interface CoremlCostInput {
  readonly route: Route;
  readonly machine: Machine;
  /** Tokens of a step. */
  readonly tokens: number;
}

/** Operators between two pauses. */
const SLICE = 4096;

export function* coremlCost({ route, machine, tokens }: CoremlCostInput): Steps<StepCost> {
  const nodes = new SecondsColumns(route.graph.nodes.length);
  const segments: Draft[] = [];
  // As the route does: part by part, run by run.
  for (const part of route.parts) {
    const [plan, lowered] = [route.plans.get(part.index), route.functions.get(part.index)];
    if (part.side === "host") segments.push(hostSegment(part.nodes, part.bytesIn + part.bytesOut, nodes));
    else if (plan !== undefined && lowered !== undefined)
      for (const run of plan.runs) segments.push(yield* runSegment({ plan, lowered, run, machine, nodes }));
  }
  const deviceOf = (segment: number): CostDevice => segments[segment]?.device ?? "cpu";
  return stepCost({
    tokens,
    nodes,
    segments,
    hops: route.hops.map((hop) => hopSeconds(hop, deviceOf(hop.to))),
    caches: cacheSeconds(route.cacheBytes, machine),
    cacheBytes: route.cacheBytes,
  });
}

/** Bytes that cross take what the placement model reckons; so does handing over. */
export const hopSeconds = ({ bytes }: Pick<RouteHop, "bytes">, to: CostDevice): Seconds =>
  floorSeconds((TRANSFER[to === "host" ? "cpu" : to] + bytes / TRANSFER_BYTES_PER_MS) / 1e3);

/** Whether Core ML copies them is not known before: at best it does not, else it reads and writes each byte once. */
function cacheSeconds(bytes: number, machine: Machine): Seconds {
  const { value, high } = workSeconds(machine, "cpu", { bytes: 2 * bytes, flops: 0 });
  return bytes === 0 ? NO_TIME : { value, low: 0, high };
}

function hostSegment(own: readonly number[], bytes: number, nodes: SecondsColumns): Draft {
  const work = floorSeconds(bytes / TRANSFER_BYTES_PER_MS / 1e3);
  for (const id of own) nodes.add(id, work, 1 / own.length);
  return { device: "host", work, starting: NO_TIME, weightBytes: 0, valueBytes: bytes, flops: 0 };
}

interface RunInput {
  readonly plan: FunctionPlan;
  readonly lowered: LoweredPart;
  readonly run: PlanRun;
  readonly machine: Machine;
  readonly nodes: SecondsColumns;
}

function* runSegment({ plan, lowered, run, machine, nodes }: RunInput): Steps<Draft> {
  const { facts, nodeStart, nodes: owners } = lowered;
  /** Operations of one kind cost the same. */
  const known = new Map<number, { readonly seconds: Seconds; readonly work: Work; readonly weights: number }>();
  const parts: Seconds[] = [];
  let [weightBytes, valueBytes, flops] = [0, 0, 0];
  for (let i = run.first; i <= run.last; i++) {
    if (i % SLICE === 0) yield;
    const kind = facts.kindOf[i] as number;
    const op = facts.kinds[kind];
    if (op === undefined || op.free) continue;
    let cost = known.get(kind);
    if (cost === undefined) {
      const { weights, values } = movedOn(op, run.device);
      const work = { bytes: weights + values, flops: op.flops };
      cost = { work, weights, seconds: workSeconds(machine, run.device, work) };
      known.set(kind, cost);
    }
    parts.push(cost.seconds);
    weightBytes += cost.weights;
    valueBytes += cost.work.bytes - cost.weights;
    flops += cost.work.flops;
    const [first, end] = [nodeStart[i] as number, nodeStart[i + 1] as number];
    for (let n = first; n < end; n++) nodes.add(owners[n] as number, cost.seconds, 1 / (end - first));
  }
  const starting = floorSeconds(launchMs(run.device, plan.target) / 1e3);
  return { device: run.device, work: sumOf(parts), starting, weightBytes, valueBytes, flops };
}
