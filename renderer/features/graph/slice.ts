/** The graph tab's slice: its fields, its reset, and the actions of its files (stages, groups, search, picture). */
import { isRouted, LEGAL } from "../../../main/contract/views/graph.ts";
import { ROOMY } from "../../graph/layout.ts";
import type { LayoutClient } from "../../graph/layoutClient.ts";
import { IDLE } from "../../session/async.ts";
import type { SliceTools } from "../../session/slice.ts";
import { fileActions } from "./fileActions.ts";
import { groupActions } from "./groupActions.ts";
import type { GraphSlice, ViewRequest } from "./graphState.ts";
import { LEGAL_STAGE, roomFor } from "./graphState.ts";
import { isResultMode } from "../../drawing/graphModes.ts";
import { keepPictureCurrent } from "./layOut.ts";
import { createOverlayLoader } from "./overlay.ts";
import { searchActions } from "./searchActions.ts";
import { stageActions } from "./stageActions.ts";

/** What the bars and panes around the canvas take: a first guess before the canvas is measured. */
const AROUND = { width: 420, height: 150 } as const;

const NO_STAGE = {
  graphStage: LEGAL_STAGE,
  stageGraph: IDLE,
  stageDiff: null,
  stageChanges: null,
  openGroups: new Set<number>(),
  isolated: null,
  only: null,
  graphHits: [],
  graphHitAt: -1,
} as const;

const NO_GRAPH = {
  ...NO_STAGE,
  overlay: IDLE,
  graphQuery: "",
  passChoices: [],
  keptView: null,
  nodeData: null,
} as const;

export function createGraphSlice(tools: SliceTools<GraphSlice>, layout: LayoutClient): GraphSlice {
  const { set, get, on, emit } = tools;
  let serial = 0;
  const requestView = (kind: ViewRequest["kind"], ref = -1): void => {
    serial += 1;
    set({ viewRequest: { kind, ref, serial } });
  };
  const overlay = createOverlayLoader(tools);
  keepPictureCurrent(tools, layout);
  on("modelLeft", () => {
    const { graphMode, graphRoom, graphStage } = get();
    overlay.drop();
    set({
      ...NO_GRAPH,
      graphMode: isResultMode(graphMode) ? "device" : graphMode,
      graphRoom: { ...graphRoom, map: false },
    });
    if (graphStage !== LEGAL_STAGE) emit("stageChosen", LEGAL_STAGE);
  });
  on("passesListed", ({ passes }) => set({ passChoices: passes.filter(({ name }) => name !== LEGAL) }));
  // Another runtime has other passes, and groups of other numbers.
  on("backendChanged", () => set({ ...NO_STAGE, passChoices: [] }));
  on("nodeChosen", (node) => {
    if (!isRouted(get().graphStage)) get().setGraphStage(LEGAL_STAGE);
    get().showNode(node);
  });
  return {
    ...NO_GRAPH,
    graphMode: "device",
    picture: IDLE,
    viewRequest: null,
    anchorGroup: null,
    graphRoom:
      typeof innerWidth === "number" ? roomFor(innerWidth - AROUND.width, innerHeight - AROUND.height, false) : ROOMY,
    viewNow: null,
    setViewNow: (viewNow) => set({ viewNow }),
    canvasSize: { width: 0, height: 0 },
    setCanvasSize(width, height) {
      if (width > 0 && height > 0)
        set({ graphRoom: roomFor(width, height, get().graphRoom.map), canvasSize: { width, height } });
    },
    keepView: (model, view) => set({ keptView: { model, view } }),
    setGraphMode(graphMode) {
      set({ graphMode });
      void overlay.load();
    },
    isolate: (device) => set({ isolated: get().isolated === device ? null : device }),
    showOnly: (only) => set({ only: get().only === only ? null : only }),
    requestView,
    ...stageActions(tools, overlay),
    ...groupActions(tools),
    ...searchActions(tools),
    ...fileActions(tools),
  };
}
