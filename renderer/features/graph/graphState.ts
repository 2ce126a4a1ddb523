/**
 * The state of the graph tab: open groups, stage and colours, search, the laid-out scene, view
 * requests.
 */
import type { Device } from "../../../main/contract/views/common.ts";
import { deviceOf } from "../../../main/contract/views/common.ts";
import type { OverlayView, PassDiff, PassView, Stage } from "../../../main/contract/views/graph.ts";
import { BUILT, LEGAL } from "../../../main/contract/views/graph.ts";
import { oddNote } from "../../graph/fold.ts";
import type { GraphModel } from "../../graph/graphModel.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import type { NodeData } from "../../graph/nodeData.ts";
import type { LayoutRoom } from "../../graph/layout.ts";
import type { Async } from "../../session/async.ts";
import { current } from "../../session/async.ts";
import { deviceLook } from "../../ui/devices.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { Changes, Side } from "../../drawing/changes.ts";
import type { GraphMode, Picture } from "../../drawing/graphModes.ts";
import { routeColumns } from "../../drawing/pictureState.ts";
import type { Only } from "../../drawing/highlight.ts";
import type { Frame } from "../../drawing/svgPicture.ts";
import type { KeptView } from "./view.ts";
import type { Direction } from "../../drawing/walk.ts";

/** A step of the subject's runtime. A pass is looked at from either side: the graph that it was given, the graph that it made. */
export interface StageChoice extends Pick<Stage, "step"> {
  readonly side: Side;
}
export const LEGAL_STAGE: StageChoice = { step: LEGAL, side: "after" };
export const isPass = ({ step }: StageChoice): boolean => step !== BUILT && step !== LEGAL;

/** The step that is shown: before a pass that of the pass before it, or the graph as built. */
export function shownStep({ step, side }: StageChoice, passes: readonly Pick<PassView, "name">[]): string {
  if (side === "after") return step;
  return passes[passes.findIndex(({ name }) => name === step) - 1]?.name ?? BUILT;
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
  /** Of the subject's runtime. */
  readonly passChoices: readonly Pick<PassView, "name" | "changed">[];
  readonly graphRoom: LayoutRoom;
  readonly canvasSize: { readonly width: number; readonly height: number };
  /** Where the view was when the graph was last on the screen, and of which graph. */
  /** Numbers of a file that was opened for this graph. */
  readonly nodeData: NodeData | null;
  /** What part of the picture is on the screen now; null without a canvas. */
  readonly viewNow: (() => Frame) | null;
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
  /** Fits everything into the view; on a large canvas with room for more, one level is opened first. */
  readonly fit: () => void;
  readonly isolate: (device: Device) => void;
  /** The same again shows everything. */
  readonly showOnly: (only: Only) => void;
  readonly setGraphQuery: (text: string) => void;
  readonly nextHit: (step: 1 | -1) => void;
  readonly goToHit: (at: number) => void;
  readonly showNode: (node: number) => void;
  readonly showGroup: (group: number) => void;
  /** The operation of the model as the file builds it, that a node of a later stage came from. */
  readonly showSource: (source: number) => void;
  readonly requestView: (kind: ViewRequest["kind"], ref?: number) => void;
  /** The size of the canvas: a small one gets narrower cards, and a map takes its shape. */
  readonly setCanvasSize: (width: number, height: number) => void;
  readonly setViewNow: (viewNow: (() => Frame) | null) => void;
  /** null where it could not be made. */
  readonly makePicture: (
    format: "png" | "svg",
    extent: "shown" | "whole",
  ) => Promise<{ readonly name: string; readonly blob: Blob } | null>;
  readonly savePicture: (format: "png" | "svg", extent: "shown" | "whole") => Promise<void>;
  /** The numbers of the mode that is shown, as a file that the graph can open again. */
  readonly saveNodeData: () => void;
  readonly openNodeData: (file: File) => Promise<void>;
  readonly dropNodeData: () => void;
  readonly keepView: (model: GraphModel, view: KeptView) => void;
}

/** A canvas below this in either direction is a small one. */
const SMALL = { width: 680, height: 520 } as const;

export const isSmall = (width: number, height: number): boolean => width < SMALL.width || height < SMALL.height;

export function roomFor(width: number, height: number, map: boolean): LayoutRoom {
  const aspect = Math.max(0.5, Math.min(4, width / Math.max(1, height)));
  return { compact: isSmall(width, height), map, aspect: Math.round(aspect * 8) / 8 };
}

export type GraphState = SessionState & GraphSlice;

/** What makes a block differ from its siblings in the picture that is shown, or "". */
export function blockNote(state: GraphState, group: number): string {
  const picture = current(state.picture);
  if (picture === null || group >= picture.model.view.groups.parent.length) return "";
  const { device } = routeColumns(state);
  const column = device !== null && device.length === picture.model.view.nodeCount ? device : null;
  return oddNote(picture.model, group, picture.classes, column, (code) => deviceLook(deviceOf(code)).short);
}

/** The blocks of the folded stack that begins with a group; of any other group itself. */
export function stackBlocks(picture: Picture | null, group: number): readonly number[] {
  if (picture === null) return [group];
  const { scene, model } = picture;
  const parents = model.view.groups.parent;
  for (let box = 0; box < scene.boxCount; box++) {
    const [first, last] = [scene.ref[box] ?? 0, scene.last[box] ?? 0];
    if (scene.kind[box] !== BOX_KINDS.stack || group < first || group > last) continue;
    // Between the blocks of a stack lie the numbers of their parts.
    const blocks: number[] = [];
    for (let at = first; at <= last; at++) if (parents[at] === parents[first]) blocks.push(at);
    return blocks.includes(group) ? blocks : [group];
  }
  return [group];
}
