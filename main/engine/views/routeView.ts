/** A predicted route as the window draws it: columns over nodes, the ribbon's stretches, segments, hops, shares by device. */
import { finish } from "../../ir/steps.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { Verdict } from "../../backends/coreml/hybrid/segments.ts";
import { ROUTE_DEVICES } from "../../backends/coreml/hybrid/segments.ts";
import type { Device, Figure, Phase, TargetSpec } from "../../contract/views/common.ts";
import { deviceCode } from "../../contract/views/common.ts";
import { ROUTED, routedStage } from "../../contract/views/graph.ts";
import type { DeviceShare, HopView, RouteView, SegmentView } from "../../contract/views/route.ts";
import type { Graph } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import { counted } from "../words.ts";
import type { Machine } from "../../compiler/cost/machines.ts";
import type { Seconds } from "../../compiler/cost/seconds.ts";
import { NO_TIME } from "../../compiler/cost/seconds.ts";
import type { StepCost } from "../../compiler/cost/stepCost.ts";
import { deviceSeconds } from "../../compiler/cost/stepCost.ts";
import { bytesFigure, figure } from "../measure/forecast.ts";
import { secondsFigure, shareOf } from "../measure/costFigures.ts";
import type { Group } from "./groups.ts";
import { groupTree } from "./groups.ts";
import { loweringView } from "./loweringView.ts";
import { StringTable } from "./strings.ts";

export interface RouteViewInput {
  readonly model: string;
  readonly route: Route;
  readonly cost: StepCost;
  readonly machine: Machine;
  readonly target: TargetSpec;
  readonly phase: Phase;
}

export function routeView({ model, route, cost, machine, target, phase }: RouteViewInput): RouteView {
  const strings = new StringTable();
  const { nodes } = route;
  const { os, profile, context, options } = route.target;
  const segmentOf = new Int32Array(route.graph.nodes.length).fill(-1);
  for (const segment of route.segments) for (const id of segment.nodes) segmentOf[id] = segment.index;
  return {
    // `key` repeats the request, clamped to the model's context; `target` is what the numbers are for.
    key: { model, stage: routedStage(ROUTED.backend, { ...target, context }), phase },
    backend: "coreml",
    target: { ...target, os, profile, context, ...(options !== undefined && { options }) },
    targetTitle: route.title,
    phase,
    truth: "predicted",
    nodes: {
      // Both lists of devices have one order; a test holds them to it.
      device: nodes.device,
      work: shareColumn(cost),
      seconds: Float32Array.from(cost.nodes.value),
      rule: textColumn(route, strings, (verdict) => verdict.rule),
      reason: textColumn(route, strings, (verdict) => verdict.reason),
      lowering: nodes.lowering,
    },
    lowerings: route.lowerings.map(loweringView),
    runs: ribbon(route, cost, segmentOf),
    segments: route.segments.map((segment) => segmentView(segment, cost)),
    hops: route.hops.map((hop, i) => hopView(route, hop, cost.hops[i] ?? NO_TIME)),
    devices: deviceShares(route, cost),
    bytesPerStep: bytesPerStep(route),
    cacheBytes: route.cacheBytes,
    machine: machine.title,
    step: secondsFigure(cost.step, "segments, hops, and caches that are copied"),
    cacheSeconds: secondsFigure(cost.caches, "caches read and written once, if Core ML copies them"),
    overhead: secondsFigure(cost.overhead, "starting segments and handing over"),
    sentence: sentenceOf(route, cost),
    strings: strings.strings,
  };
}

/** Shares of the step's time. */
export function shareColumn({ nodes, step }: StepCost): Float32Array {
  const column = new Float32Array(nodes.value.length);
  if (step.value > 0)
    for (let node = 0; node < column.length; node++) column[node] = (nodes.value[node] ?? 0) / step.value;
  return column;
}

const hopBytes = (route: Route): number => route.hops.reduce((sum, hop) => sum + hop.bytes, 0);

/** What moves for a step: between segments, and the caches that a call passes where the program keeps none. */
export const bytesPerStep = (route: Route): Figure =>
  figure(
    hopBytes(route) + route.cacheBytes,
    "bytes",
    "predicted",
    route.cacheBytes === 0
      ? "values that one segment makes and another takes"
      : `values that one segment makes and another takes, and ${bytesFigure(route.cacheBytes)} of caches, which every call passes in and out`,
  );

/** For each node the string of its verdict: each verdict is looked up once. */
function textColumn({ nodes, verdicts }: Route, strings: StringTable, of: (verdict: Verdict) => string): Uint32Array {
  const known = new Int32Array(verdicts.length).fill(-1);
  const column = new Uint32Array(nodes.verdict.length);
  for (let node = 0; node < column.length; node++) {
    const at = nodes.verdict[node] as number;
    if (known[at] === -1) known[at] = strings.add(of(verdicts[at] ?? { rule: "", reason: "" }));
    column[node] = known[at] as number;
  }
  return column;
}

export const sameDeviceOrder = ROUTE_DEVICES.every((name, code) => deviceCode(name) === code);

const isWithin = ({ kind }: Pick<Group, "kind">): boolean => kind === "part" || kind === "op";

/** What the ribbon and the overlays need of any route: columns over the nodes of a graph, and its segments. */
export interface Placed {
  readonly graph: Graph;
  readonly title: string;
  readonly nodes: { readonly device: Uint8Array };
  readonly segments: readonly { readonly index: number; readonly title: string; readonly nodes: readonly number[] }[];
}

interface Stretch {
  readonly device: number;
  seconds: number;
  ops: number;
  readonly firstNode: number;
  readonly segment: number;
  readonly block: number;
}

/**
 * One stretch per segment, device and top-level group, in the order of the nodes. The stretches of a segment share what belongs to
 * none of its nodes, so that together they take as long as the segment does.
 */
export function ribbon(
  route: Pick<Placed, "graph" | "nodes">,
  cost: StepCost,
  segmentOf: Int32Array,
): RouteView["runs"] {
  const tree = finish(groupTree(route.graph));
  const block = (node: number): number => {
    let at = tree.of[node] ?? 0;
    for (let group = tree.groups[at]; group && isWithin(group) && group.parent > 0; group = tree.groups[at])
      at = group.parent;
    return at;
  };
  const stretches: Stretch[] = [];
  for (const node of route.graph.nodes) {
    const device = route.nodes.device[node.id] ?? 0;
    if (isLeaf(node) || device === 0) continue;
    const own = block(node.id);
    const seconds = cost.nodes.value[node.id] ?? 0;
    const segment = Math.max(0, segmentOf[node.id] ?? 0);
    const last = stretches.at(-1);
    if (last?.device === device && last.block === own && last.segment === segment) {
      last.seconds += seconds;
      last.ops++;
    } else stretches.push({ device, seconds, ops: 1, firstNode: node.id, segment, block: own });
  }
  const seconds = wholeSegments(stretches, cost);
  const step = cost.step.value;
  return {
    device: Uint8Array.from(stretches, (s) => s.device),
    work: Float32Array.from(seconds, (own) => (step > 0 ? own / step : 0)),
    seconds: Float32Array.from(seconds),
    ops: Uint32Array.from(stretches, (s) => s.ops),
    firstNode: Uint32Array.from(stretches, (s) => s.firstNode),
    segment: Uint32Array.from(stretches, (s) => s.segment),
  };
}

function wholeSegments(stretches: readonly Stretch[], { segments }: StepCost): readonly number[] {
  const sums = new Map<number, { seconds: number; ops: number }>();
  for (const { segment, seconds, ops } of stretches) {
    const sum = sums.get(segment) ?? { seconds: 0, ops: 0 };
    sums.set(segment, { seconds: sum.seconds + seconds, ops: sum.ops + ops });
  }
  return stretches.map(({ segment, seconds, ops }) => {
    const [sum, whole] = [sums.get(segment), segments[segment]?.whole.value ?? 0];
    if (sum === undefined) return seconds;
    return sum.seconds > 0 ? (whole * seconds) / sum.seconds : (whole * ops) / sum.ops;
  });
}

function segmentView(segment: Route["segments"][number], cost: StepCost): SegmentView {
  const own = cost.segments[segment.index];
  const seconds = own?.whole ?? NO_TIME;
  return {
    index: segment.index,
    device: segment.device,
    title: segment.title,
    ops: segment.nodes.length,
    firstNode: segment.nodes[0] ?? 0,
    lastNode: segment.nodes.at(-1) ?? 0,
    workShare: shareOf(seconds, cost),
    seconds: secondsFigure(seconds, "its operations, and starting it"),
    heaviest: heaviestOf(segment.nodes, cost),
    bytesIn: segment.bytesIn,
    bytesOut: segment.bytesOut,
    inputs: [...segment.inputs],
    outputs: [...segment.outputs],
    why: segment.why,
  };
}

export function heaviestOf(nodes: readonly number[], { nodes: { value } }: StepCost): number {
  let most = -1;
  for (const node of nodes) if ((value[node] ?? 0) > (value[most] ?? 0)) most = node;
  return most;
}

function hopView(route: Route, hop: Route["hops"][number], seconds: Seconds): HopView {
  const from = route.segments[hop.from]?.device ?? "cpu";
  const to = route.segments[hop.to]?.device ?? "cpu";
  return {
    fromSegment: hop.from,
    toSegment: hop.to,
    from,
    to,
    values: hop.values,
    bytes: hop.bytes,
    seconds: secondsFigure(seconds, "a constant for handing over, and the bytes"),
  };
}

/** Time by segment, which counts plumbing between ops too; ops by where their heaviest operation is. */
export function deviceShares(route: Route, cost: StepCost): DeviceShare[] {
  const ops = new Map<Device, number>();
  for (const code of route.nodes.device) {
    const device = ROUTE_DEVICES[code] ?? "none";
    if (device !== "none") ops.set(device, (ops.get(device) ?? 0) + 1);
  }
  const used = new Set<Device>(route.segments.map(({ device }) => device));
  return (["ane", "gpu", "cpu", "host"] as const).flatMap((device): readonly DeviceShare[] => {
    if (!used.has(device) && !ops.has(device)) return [];
    const seconds = deviceSeconds(cost, device);
    return [
      {
        device,
        ops: ops.get(device) ?? 0,
        workShare: shareOf(seconds, cost),
        seconds: secondsFigure(seconds, "its segments, and starting them"),
      },
    ];
  });
}

const NAMES: Readonly<Record<Exclude<Device, "none">, string>> = {
  ane: "Neural Engine",
  gpu: "GPU",
  cpu: "CPU",
  host: "host code",
};

/** As the window's own figures: a share that is not the whole never reads as if it were. */
const percent = (share: number): string => (share > 0.99 && share < 1 ? "> 99 %" : `${Math.round(share * 100)} %`);

export function sentenceOf(route: Route, cost: StepCost): string {
  const [most] = deviceShares(route, cost).sort((a, b) => b.workShare - a.workShare);
  if (!most || most.device === "none") return "Nothing to place.";
  const caches = route.cacheBytes === 0 ? "" : `${bytesFigure(route.cacheBytes)} of caches in and out`;
  if (route.segments.length === 1)
    return `Everything runs in one segment on the ${NAMES[most.device]}${caches === "" ? "" : `, ${caches} per step`}.`;
  return `${NAMES[most.device]} ${percent(most.workShare)} of the predicted time, ${counted(route.segments.length, "segment")}, ${counted(route.hops.length, "hop")}, ${bytesFigure(hopBytes(route))} between them${caches === "" ? "" : ` and ${caches}`} per step.`;
}
