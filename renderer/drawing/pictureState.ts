/** The part of a state that the graph's picture is made from, and the columns that it has for the graph that is shown. */
import type { Device, Phase, TargetSpec } from "../../main/contract/views/common.ts";
import type { WeightRow } from "../../main/contract/views/export.ts";
import type { Backend, OverlayView } from "../../main/contract/views/graph.ts";
import { isRouted, ROUTED } from "../../main/contract/views/graph.ts";
import type { MlxRoute } from "../../main/contract/views/mlx.ts";
import type { PlannedRoute, RouteView } from "../../main/contract/views/route.ts";
import type { ProfileView } from "../../main/contract/views/run.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import type { NodeData } from "../graph/nodeData.ts";
import type { Async } from "../session/async.ts";
import { current } from "../session/async.ts";
import type { Selection } from "../session/selected.ts";
import type { Changes } from "./changes.ts";
import type { GraphMode, Picture } from "./graphModes.ts";
import type { Only } from "./highlight.ts";

export interface PictureState {
  readonly backend: Backend;
  readonly phase: Phase;
  readonly graph: Async<GraphModel>;
  /** The graph of another stage than the legal one. */
  readonly stageGraph: Async<GraphModel>;
  readonly graphStage: { readonly step: string };
  readonly graphMode: GraphMode;
  readonly routes: { readonly [P in Phase]: Async<RouteView> };
  readonly planned: Async<PlannedRoute>;
  readonly onMlx: Async<MlxRoute>;
  readonly overlay: Async<OverlayView>;
  readonly profiled: ProfileView | null;
  readonly weightErrors: { readonly target: TargetSpec; readonly rows: readonly WeightRow[] } | null;
  readonly nodeData: NodeData | null;
  readonly picture: Async<Picture>;
  readonly selection: Selection;
  readonly isolated: Device | null;
  readonly only: Only | null;
  readonly graphHits: readonly number[];
  readonly stageChanges: Changes | null;
}

export function shownGraph(state: PictureState): Async<GraphModel> {
  return isRouted(state.graphStage) ? state.graph : state.stageGraph;
}

/** The legal graph is there, and where its ops run is not known yet. */
export const isPlacing = ({ graphStage, routes, phase }: PictureState): boolean =>
  isRouted(graphStage) && routes[phase].kind === "loading" && current(routes[phase]) === null;

/** Device and work per node, when the route speaks about the graph that is shown. */
export function routeColumns(state: PictureState): {
  readonly device: Uint8Array | null;
  readonly work: Float32Array | null;
} {
  const route = current(state.routes[state.phase]);
  const shown = current(shownGraph(state));
  if (!isRouted(state.graphStage) || route === null || shown?.view.nodeCount !== route.nodes.device.length)
    return { device: null, work: null };
  return { device: route.nodes.device, work: route.nodes.work };
}

/** The graph that plans and MLX's answers speak about. */
const ofCoreml = ({ backend, graphStage }: PictureState): boolean => backend === ROUTED.backend && isRouted(graphStage);

/** Per node what the system plans; null without a plan of the graph that is shown. */
export function plannedColumn(state: PictureState): Uint8Array | null {
  const planned = current(state.planned)?.nodes.planned;
  const shown = current(shownGraph(state));
  return ofCoreml(state) && planned?.length === shown?.view.nodeCount ? (planned ?? null) : null;
}

/** Per node what MLX would do; null without that or for another graph. */
export function mlxColumn(state: PictureState): Uint8Array | null {
  const onMlx = current(state.onMlx)?.nodes.state;
  const shown = current(shownGraph(state));
  return ofCoreml(state) && onMlx?.length === shown?.view.nodeCount ? (onMlx ?? null) : null;
}

/** The chosen mode if its column exists, else colours by device: a plan goes with its target. */
export const shownMode = (state: PictureState): GraphMode =>
  (state.graphMode === "planned" && plannedColumn(state) === null) ||
  (state.graphMode === "data" && state.nodeData === null) ||
  (state.graphMode === "mapped" && mlxColumn(state) === null)
    ? "device"
    : state.graphMode;
