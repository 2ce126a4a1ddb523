/** The route of a runtime with one device in the form of every route: a ribbon by work, one segment, no hops. */
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import { routedStage } from "../../contract/views/graph.ts";
import type { Placement } from "../../contract/views/graph.ts";
import type { RouteView } from "../../contract/views/route.ts";
import type { Machine } from "../../compiler/cost/machines.ts";
import { NO_TIME } from "../../compiler/cost/seconds.ts";
import { secondsFigure } from "../measure/costFigures.ts";
import { figure } from "../measure/forecast.ts";
import type { OwnRoute } from "../models/ownRoutes.ts";
import { counted } from "../words.ts";
import { heaviestOf, ribbon, shareColumn } from "./routeView.ts";

export interface OwnRouteViewInput {
  readonly model: string;
  readonly route: OwnRoute;
  readonly machine: Machine;
  readonly target: TargetSpec;
  readonly phase: Phase;
}

const NOT_TAKEN_APART: RouteView["lowerings"][number] = { operations: 0, groups: [], follows: "" };
const ALL_OF_IT = "This runtime runs the whole program on one device.";

export function ownRouteView({ model, route, machine, target, phase }: OwnRouteViewInput): RouteView {
  const { backend, cost, device, graph, nodes, segments } = route;
  const count = graph.nodes.length;
  const whole = secondsFigure(cost.step, "its ops, each with its start");
  return {
    key: { model, stage: routedStage(backend, target), phase },
    backend,
    target,
    targetTitle: route.title,
    phase,
    truth: "predicted",
    strings: [...route.reasons],
    nodes: {
      device: nodes.device,
      work: shareColumn(cost),
      seconds: Float32Array.from(cost.nodes.value),
      rule: new Uint32Array(count),
      reason: route.reason,
      lowering: new Uint32Array(count),
    },
    lowerings: [NOT_TAKEN_APART],
    runs: ribbon(route, cost, new Int32Array(count)),
    segments: segments.map(({ index, title, nodes: own }) => ({
      index,
      device,
      title,
      ops: own.length,
      firstNode: own[0] ?? 0,
      lastNode: own.at(-1) ?? 0,
      workShare: 1,
      seconds: whole,
      heaviest: heaviestOf(own, cost),
      bytesIn: 0,
      bytesOut: 0,
      inputs: [],
      outputs: [],
      why: ALL_OF_IT,
    })),
    hops: [],
    devices: segments.map(({ nodes: own }) => ({ device, ops: own.length, workShare: 1, seconds: whole })),
    bytesPerStep: figure(0, "bytes", "predicted", "one device: nothing crosses"),
    cacheBytes: 0,
    machine: machine.title,
    step: whole,
    cacheSeconds: secondsFigure(NO_TIME, "caches stay where they are"),
    overhead: secondsFigure(cost.overhead, "starting ops"),
    sentence: ownSentence(route),
  };
}

function ownSentence({ backend, device, refused, segments }: OwnRoute): string {
  const where = backend === "cpu" ? "on the CPU, by our own engine" : `on the ${device.toUpperCase()}, by MLX`;
  if (refused === 0) return segments.length === 0 ? "Nothing to run." : `Everything runs ${where}: no hops.`;
  return `${backend === "cpu" ? "The CPU engine" : "MLX"} cannot run ${counted(refused, "op")} of this model.`;
}

/** The answer to "Why here?" for a node of the runtime's own legal graph. */
export function ownPlacement(route: OwnRoute, node: number, target: TargetSpec): Placement | null {
  const { device, nodes, reason, reasons } = route;
  if ((nodes.device[node] ?? 0) === 0) return null;
  return {
    device,
    truth: "predicted",
    target,
    supported: [device],
    sentence: `${ALL_OF_IT} ${reasons[reason[node] ?? 0] ?? ""}`,
    rules: [],
    lowering: null,
    fix: null,
    segment: 0,
  };
}
