/** A graph as SVG without a window: laid out, coloured and drawn as the window does it. */
import type { GraphView, OverlayKind, OverlayView } from "../../main/contract/views/graph.ts";
import { invariant } from "../../main/diagnostics/errors.ts";
import type { RouteView } from "../../main/contract/views/route.ts";
import { ownOverlay } from "../graph/ownColumns.ts";
import { classify, classifyRoughly } from "../graph/fold.ts";
import { createGraphModel } from "../graph/graphModel.ts";
import { layoutScene } from "../graph/layout.ts";
import { IDLE, ready } from "../session/async.ts";
import { createGraphPicture } from "./graphPicture.ts";
import type { PictureState } from "./pictureState.ts";
import { svgOf, wholeFrame } from "./svgPicture.ts";
import { textWidth } from "./textWidth.ts";
import type { Theme } from "./themes.ts";
import { THEMES } from "./themes.ts";

export interface GraphSvgInput {
  readonly view: GraphView;
  /** Of the graph that is legal; null for another stage. */
  readonly route: RouteView | null;
  /** The numbers of a mode that the graph itself has not. */
  readonly overlay: OverlayView | null;
  readonly mode: OverlayKind;
  readonly theme: Theme;
  /** Every group open, instead of blocks in stacks. */
  readonly expand: boolean;
}

export function graphSvg({ view, route, overlay, mode, theme, expand }: GraphSvgInput): string {
  const model = createGraphModel(view);
  const device = route?.nodes.device ?? null;
  const [classes, rough] = [classify(model, device), classifyRoughly(model, device)];
  const open = new Set(expand ? view.groups.parent.keys() : []);
  const scene = layoutScene(model, { open, classes, rough });
  const numbers = ownOverlay(model, mode) ?? overlay;
  const { stage, phase } = view.key;
  const routes = { prefill: IDLE, decode: IDLE, [phase]: route === null ? IDLE : ready(route) };
  const state: PictureState = {
    ...{ backend: stage.backend, phase, graphStage: stage, graphMode: mode, routes },
    ...{ graph: ready(model), stageGraph: ready(model), planned: IDLE, onMlx: IDLE },
    ...{ overlay: numbers === null ? IDLE : ready(numbers), profiled: null, weightErrors: null, nodeData: null },
    picture: ready({ model, classes, rough, scene, serial: 0 }),
    ...{ selection: { kind: "none" }, isolated: null, only: null, graphHits: [], stageChanges: null },
  };
  const picture = createGraphPicture()(state);
  invariant(picture, "a picture that is ready is shown");
  return svgOf(picture, wholeFrame(picture, Infinity), THEMES[theme], textWidth);
}
