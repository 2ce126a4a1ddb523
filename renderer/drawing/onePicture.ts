/** The picture of a graph outside the window's graph tab: laid out and coloured as there. */
import { invariant } from "../../main/diagnostics/errors.ts";
import type { OverlayKind, OverlayView } from "../../main/contract/views/graph.ts";
import type { RouteView } from "../../main/contract/views/route.ts";
import { classify, classifyRoughly } from "../graph/fold.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import { layoutScene } from "../graph/layout.ts";
import { ownOverlay } from "../graph/ownColumns.ts";
import { IDLE, ready } from "../session/async.ts";
import type { Changes } from "./changes.ts";
import type { GraphPicture } from "./graphPicture.ts";
import { createGraphPicture } from "./graphPicture.ts";
import type { PictureState } from "./pictureState.ts";

export interface OnePicture {
  readonly model: GraphModel;
  /** Of the graph that is legal; null for another stage. */
  readonly route: RouteView | null;
  /** The numbers of a mode that the graph itself has not. */
  readonly overlay: OverlayView | null;
  readonly mode: OverlayKind;
  /** Groups that are open; the others are boxes, equal blocks one stack. */
  readonly open: ReadonlySet<number>;
  /** What is marked as added, removed or changed. */
  readonly changes: Changes | null;
  /** A node that is marked as selected, or -1. */
  readonly selected: number;
}

export function onePicture({ model, route, overlay, mode, open, changes, selected }: OnePicture): GraphPicture {
  const { view } = model;
  const device = route?.nodes.device ?? null;
  const [classes, rough] = [classify(model, device), classifyRoughly(model, device)];
  const scene = layoutScene(model, { open, classes, rough });
  const numbers = ownOverlay(model, mode) ?? overlay;
  const { stage, phase } = view.key;
  const routes = { prefill: IDLE, decode: IDLE, [phase]: route === null ? IDLE : ready(route) };
  const state: PictureState = {
    ...{ backend: stage.backend, phase, graphStage: stage, graphMode: mode, routes },
    ...{ graph: ready(model), stageGraph: ready(model), planned: IDLE, onMlx: IDLE },
    ...{ overlay: numbers === null ? IDLE : ready(numbers), profiled: null, weightErrors: null, nodeData: null },
    picture: ready({ model, classes, rough, scene, serial: 0 }),
    selection: selected < 0 ? { kind: "none" } : { kind: "node", key: view.key, node: selected },
    ...{ isolated: null, only: null, graphHits: [], stageChanges: changes },
  };
  const picture = createGraphPicture()(state);
  invariant(picture, "a picture that is ready is shown");
  return picture;
}
