/**
 * The state of the graph tab: open groups, stage and colours, search, the laid-out scene, view
 * requests.
 */
import type { Device } from "../../../main/contract/views/common.ts";
import { deviceOf } from "../../../main/contract/views/common.ts";
import type {
  Backend,
  OverlayKind,
  OverlayView,
  PassDiff,
  PassView,
  Stage,
} from "../../../main/contract/views/graph.ts";
import { BUILT, isRouted, LEGAL, ROUTED } from "../../../main/contract/views/graph.ts";
import { oddNote } from "../../graph/fold.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import type { LayoutRoom } from "../../graph/layout.ts";
import type { Scene } from "../../graph/scene.ts";
import type { Async } from "../../session/async.ts";
import { current } from "../../session/async.ts";
import { deviceLook } from "../../ui/devices.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { Changes, Side } from "./changes.ts";
import type { Only } from "./highlight.ts";
import type { KeptView } from "./view.ts";
import type { Direction } from "./walk.ts";

/** A step of a backend. A pass is looked at from either side: the graph that it was given, the graph that it made. */
export interface StageChoice extends Pick<Stage, "backend" | "step"> {
  readonly side: Side;
}
export const LEGAL_STAGE: StageChoice = { ...ROUTED, side: "after" };
export const isPass = ({ step }: StageChoice): boolean => step !== BUILT && step !== LEGAL;

/** The step that is shown: before a pass that of the pass before it, or the graph as built. */
export function shownStep({ step, side }: StageChoice, passes: readonly Pick<PassView, "name">[]): string {
  if (side === "after") return step;
  return passes[passes.findIndex(({ name }) => name === step) - 1]?.name ?? BUILT;
}

/**
 * Colours by facts of the graph, by results of a run or an export, by the system's plan, or by MLX
 * support.
 */
export type GraphMode = OverlayKind | "measured" | "error" | "planned" | "mapped";
export const isResultMode = (mode: GraphMode): mode is "measured" | "error" => mode === "measured" || mode === "error";

/** A scene with its model and classes: indices of one are valid only in the other. */
export interface Picture {
  readonly model: GraphModel;
  readonly classes: Uint32Array;
  readonly rough: Uint32Array;
  readonly scene: Scene;
  readonly serial: number;
}

/** A request to the viewport, done with the next picture. */
export interface ViewRequest {
  readonly kind: "top" | "fit" | "fitSelection" | "showNode" | "showGroup" | "reveal" | "zoomIn" | "zoomOut";
  readonly ref: number;
  readonly serial: number;
}

export interface GraphSlice {
  readonly graphMode: GraphMode;
  readonly graphStage: StageChoice;
  readonly stageGraph: Async<GraphModel>;
  /** What the chosen pass did; null without one. */
  readonly stageDiff: PassDiff | null;
  readonly stageChanges: Changes | null;
  readonly overlay: Async<OverlayView>;
  readonly openGroups: ReadonlySet<number>;
  readonly picture: Async<Picture>;
  readonly isolated: Device | null;
  readonly only: Only | null;
  readonly graphQuery: string;
  readonly graphHits: readonly number[];
  readonly graphHitAt: number;
  readonly viewRequest: ViewRequest | null;
  /** A group whose place on the screen must not change while it opens. */
  readonly anchorGroup: number | null;
  /** The passes of `passBackend`. */
  readonly passChoices: readonly Pick<PassView, "name" | "changed">[];
  readonly passBackend: Backend;
  readonly graphRoom: LayoutRoom;
  /** Where the view was when the graph was last on the screen, and of which graph. */
  readonly keptView: { readonly model: GraphModel; readonly view: KeptView } | null;

  readonly setGraphMode: (mode: GraphMode) => void;
  readonly setGraphStage: (stage: StageChoice) => void;
  /** Opens the graph at a pass. */
  readonly showPass: (name: string) => void;
  readonly setPassSide: (side: Side) => void;
  readonly nextChange: (step: 1 | -1) => void;
  /** From stage to stage: as built, after each pass (or each that changed something), legal. */
  readonly stepStage: (step: 1 | -1, passes: "changed" | "all") => void;
  /** Selects the neighbour of the selection. */
  readonly walk: (direction: Direction) => void;
  /** Folds the group around the selection and selects it; at the top, selects nothing. */
  readonly goUp: () => void;
  readonly selectBox: (box: number) => void;
  readonly toggleGroup: (group: number) => void;
  readonly closeGroups: (groups: readonly number[]) => void;
  readonly expandAll: () => void;
  readonly foldAll: () => void;
  readonly isolate: (device: Device) => void;
  /** The same again shows everything. */
  readonly showOnly: (only: Only) => void;
  readonly setGraphQuery: (text: string) => void;
  readonly nextHit: (step: 1 | -1) => void;
  readonly showNode: (node: number) => void;
  readonly showGroup: (group: number) => void;
  /** The operation of the model as the file builds it, that a node of a later stage came from. */
  readonly showSource: (source: number) => void;
  readonly requestView: (kind: ViewRequest["kind"], ref?: number) => void;
  /** The size of the canvas: a small one gets narrower cards, and a map takes its shape. */
  readonly setCanvasSize: (width: number, height: number) => void;
  readonly keepView: (model: GraphModel, view: KeptView) => void;
}

/** A canvas below this in either direction is a small one. */
const SMALL = { width: 680, height: 520 } as const;

export function roomFor(width: number, height: number, map: boolean): LayoutRoom {
  const aspect = Math.max(0.5, Math.min(4, width / Math.max(1, height)));
  return { compact: width < SMALL.width || height < SMALL.height, map, aspect: Math.round(aspect * 8) / 8 };
}

export type GraphState = SessionState & GraphSlice;

/** Modes whose columns the window already has: no question to the engine. */
export const isRouteMode = (mode: GraphMode): boolean =>
  mode === "device" || mode === "segment" || mode === "planned" || mode === "mapped";
/** These modes are about the legal graph only. */
export const isLegalMode = (mode: GraphMode): mode is "planned" | "mapped" => mode === "planned" || mode === "mapped";

export function shownGraph(state: GraphState): Async<GraphModel> {
  return isRouted(state.graphStage) ? state.graph : state.stageGraph;
}

/** The legal graph is there, and where its ops run is not known yet. */
export const isPlacing = ({ graphStage, routes, phase }: GraphState): boolean =>
  isRouted(graphStage) && routes[phase].kind === "loading" && current(routes[phase]) === null;

/** Device and work per node, when the route speaks about the graph that is shown. */
export function routeColumns(state: GraphState): {
  readonly device: Uint8Array | null;
  readonly work: Float32Array | null;
} {
  const route = current(state.routes[state.phase]);
  const shown = current(shownGraph(state));
  if (!isRouted(state.graphStage) || route === null || shown?.view.nodeCount !== route.nodes.device.length)
    return { device: null, work: null };
  return { device: route.nodes.device, work: route.nodes.work };
}

/** Per node what the system plans; null without a plan of the graph that is shown. */
export function plannedColumn(state: GraphState): Uint8Array | null {
  const planned = current(state.planned)?.nodes.planned;
  const shown = current(shownGraph(state));
  return isRouted(state.graphStage) && planned?.length === shown?.view.nodeCount ? (planned ?? null) : null;
}

/** Per node what MLX would do; null without that or for another graph. */
export function mlxColumn(state: GraphState): Uint8Array | null {
  const onMlx = current(state.onMlx)?.nodes.state;
  const shown = current(shownGraph(state));
  return isRouted(state.graphStage) && onMlx?.length === shown?.view.nodeCount ? (onMlx ?? null) : null;
}

/** The chosen mode if its column exists, else colours by device: a plan goes with its target. */
export const shownMode = (state: GraphState): GraphMode =>
  (state.graphMode === "planned" && plannedColumn(state) === null) ||
  (state.graphMode === "mapped" && mlxColumn(state) === null)
    ? "device"
    : state.graphMode;

/** What makes a block differ from its siblings in the picture that is shown, or "". */
export function blockNote(state: GraphState, group: number): string {
  const picture = current(state.picture);
  if (picture === null || group >= picture.model.view.groups.parent.length) return "";
  const { device } = routeColumns(state);
  const column = device !== null && device.length === picture.model.view.nodeCount ? device : null;
  return oddNote(picture.model, group, picture.classes, column, (code) => deviceLook(deviceOf(code)).short);
}
