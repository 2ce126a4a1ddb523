/** What the graph can be coloured by, and a laid-out picture of it. */
import type { OverlayKind } from "../../main/contract/views/graph.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import type { Scene } from "../graph/scene.ts";

/**
 * Colours by facts of the graph, by results of a run or an export, by the system's plan, or by MLX
 * support.
 */
export type GraphMode = OverlayKind | "measured" | "error" | "data" | "planned" | "mapped";
/** Modes whose numbers come from elsewhere and may miss for any op. */
export const isResultMode = (mode: GraphMode): mode is "measured" | "error" | "data" =>
  mode === "measured" || mode === "error" || mode === "data";

/** A scene with its model and classes: indices of one are valid only in the other. */
export interface Picture {
  readonly model: GraphModel;
  readonly classes: Uint32Array;
  readonly rough: Uint32Array;
  readonly scene: Scene;
  readonly serial: number;
}

/** Modes that show a quantity or a type: not where ops run. */
export const isHeat = (mode: GraphMode): boolean => mode !== "device" && mode !== "segment" && mode !== "planned";

/** Modes whose columns the window already has: no question to the engine. */
export const isRouteMode = (mode: GraphMode): boolean =>
  mode === "device" || mode === "segment" || mode === "planned" || mode === "mapped";
/** These modes are about the legal graph only. */
export const isLegalMode = (mode: GraphMode): mode is "planned" | "mapped" => mode === "planned" || mode === "mapped";
