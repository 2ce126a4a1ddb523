/** A predicted route as the window draws it: columns over nodes, the ribbon's stretches, segments, hops, shares by device. */
import { finish } from "../../ir/steps.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { RouteDevice, Verdict } from "../../backends/coreml/hybrid/segments.ts";
import { ROUTE_DEVICES } from "../../backends/coreml/hybrid/segments.ts";
import type { Device, Figure, Phase, TargetSpec } from "../../contract/views/common.ts";
import { deviceCode } from "../../contract/views/common.ts";
import { routedStage } from "../../contract/views/graph.ts";
import type { DeviceShare, HopView, RouteView, SegmentView } from "../../contract/views/route.ts";
import { isLeaf } from "../../ir/graph.ts";
import { counted } from "../words.ts";
import { bytesFigure, figure } from "../measure/forecast.ts";
import { groupTree } from "./groups.ts";
import { loweringView } from "./loweringView.ts";
import { StringTable } from "./strings.ts";

/** Seconds that a hop takes: a constant for handing over, and the bytes (the placement model's own numbers). */
const HOP_SECONDS: Readonly<Record<Exclude<RouteDevice, "none">, number>> = {
  ane: 0.09e-3,
  gpu: 0.23e-3,
  cpu: 0.23e-3,
  host: 0.23e-3,
};
const HOP_BYTES_PER_SECOND = 10e9;

export interface RouteViewInput {
  readonly model: string;
  readonly route: Route;
  readonly target: TargetSpec;
  readonly phase: Phase;
}

export function routeView({ model, route, target, phase }: RouteViewInput): RouteView {
  const strings = new StringTable();
  const { nodes } = route;
  const { chip, os, units, profile, context } = route.target;
  const segmentOf = new Int32Array(route.graph.nodes.length).fill(-1);
  for (const segment of route.segments) for (const id of segment.nodes) segmentOf[id] = segment.index;
  return {
    // `key` repeats the request, clamped to the model's context; `target` is what the numbers are for.
    key: { model, stage: routedStage({ ...target, context }), phase },
    target: { chip, os, units, profile, context },
    targetTitle: route.title,
    phase,
    truth: "predicted",
    nodes: {
      // Both lists of devices have one order; a test holds them to it.
      device: nodes.device,
      work: nodes.work,
      rule: textColumn(route, strings, (verdict) => verdict.rule),
      reason: textColumn(route, strings, (verdict) => verdict.reason),
      lowering: nodes.lowering,
    },
    lowerings: route.lowerings.map(loweringView),
    runs: ribbon(route, segmentOf),
    segments: route.segments.map(segmentView),
    hops: route.hops.map((hop) => hopView(route, hop)),
    devices: deviceShares(route),
    bytesPerStep: bytesPerStep(route),
    cacheBytes: route.cacheBytes,
    sentence: sentenceOf(route),
    strings: strings.strings,
  };
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

/** One stretch per segment, device and top-level group, in the order of the nodes. */
function ribbon(route: Route, segmentOf: Int32Array): RouteView["runs"] {
  const tree = finish(groupTree(route.graph));
  const block = (node: number): number => {
    let at = tree.of[node] ?? 0;
    for (let group = tree.groups[at]; group && group.kind === "part" && group.parent > 0; group = tree.groups[at])
      at = group.parent;
    return at;
  };
  const stretches: { device: number; work: number; ops: number; firstNode: number; segment: number; block: number }[] =
    [];
  for (const node of route.graph.nodes) {
    const device = route.nodes.device[node.id] ?? 0;
    if (isLeaf(node) || device === 0) continue;
    const own = block(node.id);
    const work = route.nodes.work[node.id] ?? 0;
    const segment = Math.max(0, segmentOf[node.id] ?? 0);
    const last = stretches.at(-1);
    if (last?.device === device && last.block === own && last.segment === segment) {
      last.work += work;
      last.ops++;
    } else
      stretches.push({
        device,
        work,
        ops: 1,
        firstNode: node.id,
        segment,
        block: own,
      });
  }
  return {
    device: Uint8Array.from(stretches, (s) => s.device),
    work: Float32Array.from(stretches, (s) => s.work),
    ops: Uint32Array.from(stretches, (s) => s.ops),
    firstNode: Uint32Array.from(stretches, (s) => s.firstNode),
    segment: Uint32Array.from(stretches, (s) => s.segment),
  };
}

function segmentView(segment: Route["segments"][number]): SegmentView {
  return {
    index: segment.index,
    device: segment.device,
    title: segment.title,
    ops: segment.nodes.length,
    firstNode: segment.nodes[0] ?? 0,
    lastNode: segment.nodes.at(-1) ?? 0,
    workShare: segment.workShare,
    bytesIn: segment.bytesIn,
    bytesOut: segment.bytesOut,
    inputs: [...segment.inputs],
    outputs: [...segment.outputs],
    why: segment.why,
  };
}

function hopView(route: Route, hop: Route["hops"][number]): HopView {
  const from = route.segments[hop.from]?.device ?? "cpu";
  const to = route.segments[hop.to]?.device ?? "cpu";
  return {
    fromSegment: hop.from,
    toSegment: hop.to,
    from,
    to,
    values: hop.values,
    bytes: hop.bytes,
    seconds: figure(
      HOP_SECONDS[to] + hop.bytes / HOP_BYTES_PER_SECOND,
      "seconds",
      "predicted",
      "a constant for handing over, and the bytes",
    ),
  };
}

/** Work by segment, which counts plumbing between ops too; ops by where their heaviest operation is. */
export function deviceShares(route: Route): DeviceShare[] {
  const ops = new Map<Device, number>();
  for (const code of route.nodes.device) {
    const device = ROUTE_DEVICES[code] ?? "none";
    if (device !== "none") ops.set(device, (ops.get(device) ?? 0) + 1);
  }
  const work = new Map<Device, number>();
  for (const segment of route.segments) work.set(segment.device, (work.get(segment.device) ?? 0) + segment.workShare);
  return (["ane", "gpu", "cpu", "host"] as const).flatMap((device): readonly DeviceShare[] =>
    work.has(device) || ops.has(device)
      ? [{ device, ops: ops.get(device) ?? 0, workShare: work.get(device) ?? 0 }]
      : [],
  );
}

const NAMES: Readonly<Record<Exclude<Device, "none">, string>> = {
  ane: "Neural Engine",
  gpu: "GPU",
  cpu: "CPU",
  host: "host code",
};

/** As the window's own figures: a share that is not the whole never reads as if it were. */
const percent = (share: number): string => (share > 0.99 && share < 1 ? "> 99 %" : `${Math.round(share * 100)} %`);

export function sentenceOf(route: Route): string {
  const [most] = deviceShares(route).sort((a, b) => b.workShare - a.workShare);
  if (!most || most.device === "none") return "Nothing to place.";
  const caches = route.cacheBytes === 0 ? "" : `${bytesFigure(route.cacheBytes)} of caches in and out`;
  if (route.segments.length === 1)
    return `Everything runs in one segment on the ${NAMES[most.device]}${caches === "" ? "" : `, ${caches} per step`}.`;
  return `${NAMES[most.device]} ${percent(most.workShare)} of estimated work, ${counted(route.segments.length, "segment")}, ${counted(route.hops.length, "hop")}, ${bytesFigure(hopBytes(route))} between them${caches === "" ? "" : ` and ${caches}`} per step.`;
}
