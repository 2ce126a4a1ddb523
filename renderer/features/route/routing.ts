/**
 * The three truths of a route and the alternative to it, as rows: predicted by our rules, planned by the system, observed in a run;
 * and what MLX would do. Pure: the cards only draw it.
 */
import type { Device } from "../../../main/contract/views/common.ts";
import { DEVICES, deviceOf } from "../../../main/contract/views/common.ts";
import type { DeviceInfo } from "../../../main/contract/views/engine.ts";
import type { MlxRoute, MlxState } from "../../../main/contract/views/mlx.ts";
import { mlxStateOf } from "../../../main/contract/views/mlx.ts";
import type { PlannedRoute, RouteView } from "../../../main/contract/views/route.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import type { Async } from "../../session/async.ts";
import { current } from "../../session/async.ts";
import { segmentsOfNodes } from "../../graph/hopWords.ts";
import type { RibbonWaits } from "../../graph/ribbonGeometry.ts";
import { waitsOf } from "../../graph/ribbonGeometry.ts";
import { count, seconds } from "../../ui/format.ts";

/** What of a route's step is no segment's. */
export const routeWaits = ({ hops, cacheSeconds, step }: RouteView): RibbonWaits =>
  waitsOf(
    hops.map(({ toSegment, seconds: time }) => ({ toSegment, seconds: time.value })),
    cacheSeconds.value,
    step.value,
  );

/** ◌ predicted · ◐ planned · ● observed: the words of the window for how sure a placement is. */
export const ROUTE_TRUTHS = ["predicted", "planned", "observed"] as const;
export type RouteTruth = (typeof ROUTE_TRUTHS)[number];

/** The device whose system tells where operations run. */
export const tellsPlans = ({ capabilities }: DeviceInfo): boolean => capabilities.plan === true;

export interface TruthRow {
  readonly truth: RouteTruth;
  /** Whether this machine has it. */
  readonly here: boolean;
  readonly sentence: string;
  /** The same in a few words, for a single op. */
  readonly brief: string;
  /** The system was simulated. */
  readonly simulated: boolean;
}

/** What a plan needs, shown without one. */
export const PLAN_NEEDS =
  "A plan needs a Mac with Core ML and macOS 14.4 or later: there the package is compiled and the system is asked.";

/** What was recorded; the window records no graph that has no model. */
export interface Observed {
  readonly profile: ProfileView | null;
  readonly isGraph: boolean;
}

export function truthRows(
  route: RouteView | null,
  plan: Async<PlannedRoute>,
  coreml: DeviceInfo | undefined,
  { profile, isGraph }: Observed,
): readonly TruthRow[] {
  const planned = current(plan);
  const asked = plan.kind === "loading";
  return [
    {
      truth: "predicted",
      here: route !== null,
      sentence: route === null ? "The route is being worked out." : `By our rules, for ${route.targetTitle}.`,
      brief: route === null ? "being worked out" : "by our rules",
      simulated: false,
    },
    {
      truth: "planned",
      here: planned !== null && planned.refusal === null,
      sentence: plannedSentence(planned, asked, coreml),
      brief:
        planned !== null
          ? (planned.refusal ?? "not in the plan")
          : coreml?.available === true
            ? asked
              ? "loading"
              : "not loaded yet"
            : "none: Core ML is not here",
      simulated: planned?.truth === "simulated",
    },
    {
      truth: "observed",
      here: observedOn(profile, coreml),
      sentence: observedSentence({ profile, isGraph }, coreml),
      brief: observedOn(profile, coreml) ? "for the whole only" : "nothing yet",
      simulated: observedOn(profile, coreml) && profile?.truth === "simulated",
    },
  ];
}

function plannedSentence(planned: PlannedRoute | null, asked: boolean, coreml: DeviceInfo | undefined): string {
  if (planned !== null)
    return planned.truth === "simulated" ? `${planned.sentence} The system was simulated.` : planned.sentence;
  if (coreml === undefined) return PLAN_NEEDS;
  if (!coreml.available) return `None here: ${coreml.sentence} ${PLAN_NEEDS}`;
  const cost = "the package is compiled first, which can take minutes for a large model.";
  return asked ? `Loading: ${cost}` : `Not loaded yet: ${cost}`;
}

const observedOn = (profile: ProfileView | null, coreml: DeviceInfo | undefined): boolean =>
  profile !== null && profile.device === coreml?.id;

/** Evidence of a run, and no more than that: Core ML tells of no operator where it ran. */
function observedSentence({ profile, isGraph }: Observed, coreml: DeviceInfo | undefined): string {
  if (isGraph) return "None: runs of a graph are timed as a whole, and Core ML does not say where an operator ran.";
  if (profile === null || !observedOn(profile, coreml))
    return "No recording on Core ML yet. Profile makes one: times of whole predictions are measured, those of operators shared out.";
  return `Decode took ${seconds(profile.decode.seconds.value)} a token on Core ML. Core ML does not say where an operator ran: this is evidence for the whole, none for an op.`;
}

/** Devices of one segment by the plan, most operators first. */
export interface PlannedSegment {
  readonly index: number;
  readonly title: string;
  readonly predicted: Device;
  readonly planned: readonly { readonly device: Device; readonly ops: number }[];
  /** Operators with a plan, and how many of them are where they were predicted. */
  readonly told: number;
  readonly agreeing: number;
  readonly firstNode: number;
}

/** undefined: the plan speaks of another graph. */
export function plannedSegments(route: RouteView, planned: PlannedRoute): readonly PlannedSegment[] | undefined {
  const { nodes } = planned;
  const nodeCount = route.nodes.device.length;
  if (nodes.planned.length !== nodeCount) return undefined;
  const segments = segmentsOfNodes(nodeCount, route);
  const counts = route.segments.map(() => ({ devices: new Uint32Array(DEVICES.length), told: 0, agreeing: 0 }));
  for (let node = 0; node < nodeCount; node++) {
    const own = counts[segments[node] ?? -1];
    const on = nodes.planned[node] ?? 0;
    if (own === undefined || on === 0) continue;
    own.devices[on] = (own.devices[on] ?? 0) + 1;
    own.told++;
    if (on === nodes.predicted[node]) own.agreeing++;
  }
  return route.segments.map(({ index, title, device, firstNode }, i) => {
    const { devices, told, agreeing } = counts[i] ?? { devices: new Uint32Array(0), told: 0, agreeing: 0 };
    return {
      index,
      title,
      predicted: device,
      planned: [...devices.entries()]
        .filter(([, ops]) => ops > 0)
        .sort((a, b) => b[1] - a[1])
        .map(([code, ops]) => ({ device: deviceOf(code), ops })),
      told,
      agreeing,
      firstNode,
    };
  });
}

/**
 * The plan in the stretches of the ribbon: the device with most planned work for each; 0 without a
 * plan.
 */
export function plannedRuns(route: RouteView, planned: PlannedRoute): Uint8Array {
  const { firstNode } = route.runs;
  const nodeCount = route.nodes.device.length;
  const found = new Uint8Array(firstNode.length);
  if (planned.nodes.planned.length !== nodeCount) return found;
  for (let run = 0; run < firstNode.length; run++) {
    const work = new Float64Array(DEVICES.length);
    const end = firstNode[run + 1] ?? nodeCount;
    for (let node = firstNode[run] ?? 0; node < end; node++) {
      const on = planned.nodes.planned[node] ?? 0;
      // A little for each op, so that those without estimated work count too.
      if (on !== 0) work[on] = (work[on] ?? 0) + (route.nodes.work[node] ?? 0) + 1e-9;
    }
    let most = 0;
    work.forEach((each, code) => {
      if (each > (work[most] ?? 0)) most = code;
    });
    found[run] = (work[most] ?? 0) > 0 ? most : 0;
  }
  return found;
}

/** One op of the shown graph in all three truths and on MLX. */
export interface NodeTruths {
  readonly predicted: Device;
  /** none: the plan says nothing of it, or there is none. */
  readonly planned: Device;
  readonly differs: boolean;
  readonly mlx: { readonly state: MlxState; readonly reason: string } | null;
}

export function nodeTruths(
  node: number,
  route: RouteView | null,
  planned: PlannedRoute | null,
  onMlx: MlxRoute | null,
): NodeTruths {
  const predicted = deviceOf(route?.nodes.device[node] ?? 0);
  const plan = deviceOf(planned?.nodes.planned[node] ?? 0);
  const state = mlxStateOf(onMlx?.nodes.state[node] ?? 0);
  return {
    predicted,
    planned: plan,
    differs: plan !== "none" && predicted !== "none" && plan !== predicted,
    mlx: onMlx === null ? null : { state, reason: onMlx.strings[onMlx.nodes.reason[node] ?? 0] ?? "" },
  };
}

/** "49 native, 4 decomposed, none unsupported" */
export function mlxTotals({ counts }: Pick<MlxRoute, "counts">): string {
  const part = (ops: number, word: string): string => `${ops === 0 ? "none" : count(ops)} ${word}`;
  return [
    part(counts.native, "native"),
    part(counts.decomposed, "decomposed"),
    part(counts.unsupported, "unsupported"),
  ].join(", ");
}

/** A relative error as text; "exact" only where it is. */
export const weightErrorText = (error: { readonly value: number } | null): string =>
  error === null ? "not known: no data" : error.value === 0 ? "exact" : error.value.toExponential(1);
