/**
 * Everything that the graph's canvas, cards and legend show, as one pure function of the state. Each part is made again only
 * when what it is made from changed: a selection leaves the colours as they are.
 */
import { DEVICES } from "../../main/contract/views/common.ts";
import type { OverlayView } from "../../main/contract/views/graph.ts";
import type { RouteView } from "../../main/contract/views/route.ts";
import type { GraphModel } from "../graph/graphModel.ts";
import { isSameStructure } from "../graph/graphModel.ts";
import { segmentsOfNodes } from "../graph/hopWords.ts";
import type { ColorStop, NodeDataColumn } from "../graph/nodeData.ts";
import { nodeDataColumn } from "../graph/nodeData.ts";
import { kindCounts } from "../graph/opKinds.ts";
import type { ResultColumn } from "../graph/resultColumns.ts";
import { measuredColumn, weightErrorColumn } from "../graph/resultColumns.ts";
import type { Scene } from "../graph/scene.ts";
import { current } from "../session/async.ts";
import type { CardContext } from "./cardContext.ts";
import type { Column } from "./cardWords.ts";
import { descriptions, notes, plannedElsewhere, quantities, segmentWork, warnings } from "./cardWords.ts";
import type { Changes } from "./changes.ts";
import { changedBoxes } from "./changes.ts";
import { dimmedBoxes } from "./dim.ts";
import type { PictureState } from "./pictureState.ts";
import type { GraphMode, Picture } from "./graphModes.ts";
import { isResultMode } from "./graphModes.ts";
import { mlxColumn, plannedColumn, routeColumns, shownGraph, shownMode } from "./pictureState.ts";
import { hopMarks, hopsInside } from "./hops.ts";
import type { Highlight } from "./highlight.ts";
import { highlightNodes } from "./highlight.ts";
import { keeper, memo } from "./memo.ts";
import type { Paint, PaintColumns } from "./paint.ts";
import { paintScene } from "./paint.ts";
import type { SegmentFrame } from "./segmentFrames.ts";
import { segmentFrames, segmentLabel } from "./segmentFrames.ts";
import { selectedBox } from "./walk.ts";

export interface GraphPicture {
  readonly picture: Picture;
  readonly paint: Paint;
  readonly hops: ReturnType<typeof hopMarks>;
  /** Index of the selected hop; -1: none. */
  readonly selectedHop: number;
  /** Frames of segments, in their mode. */
  readonly segments: readonly SegmentFrame[];
  readonly cards: Omit<CardContext, "full" | "picture" | "paint" | "close">;
  /** What a screen reader says of a box. */
  readonly describe: (box: number) => string;
  /** The route, when it speaks about the graph that is shown. */
  readonly route: RouteView | null;
  readonly overlay: OverlayView | null;
  readonly result: ResultColumn | null;
  /** The numbers of a file, in their mode. */
  readonly data: NodeDataColumn | null;
  /** One number per node of the mode that is shown, where it has one. */
  readonly values: ArrayLike<number> | null;
  readonly devices: readonly DeviceCount[];
  readonly kinds: ReturnType<typeof kindCounts>;
  readonly highlight: Highlight | null;
}
type DeviceCount = Pick<RouteView["devices"][number], "device" | "ops">;
type Segments = Int32Array | null;

const NO_LEGEND: readonly string[] = [];
const NO_GRADIENT: readonly ColorStop[] = [];
const NO_FRAMES: readonly SegmentFrame[] = [];
const NONE: ReadonlyMap<number, never> = new Map<number, never>();

/** One for each place that shows the picture: it remembers the parts that it made last. */
export function createGraphPicture(): (state: PictureState) => GraphPicture | null {
  const parts = createParts();
  const [keepColumns, keepCards, keepPicture] = [
    keeper<PaintColumns>(),
    keeper<GraphPicture["cards"]>(),
    keeper<GraphPicture>(),
  ];
  return (state) => {
    const picture = current(state.picture);
    if (picture === null) return null;
    const { model, scene } = picture;
    const { nodeCount } = model.view;
    const sized = <T extends { readonly length: number }>(column: T | null): T | null =>
      column?.length === nodeCount ? column : null;

    const mode = shownMode(state);
    const columns = routeColumns(state);
    const [predicted, work] = [sized(columns.device), sized(columns.work)];
    const route = predicted === null ? null : current(state.routes[state.phase]);
    const segments = parts.segments(route, nodeCount);
    const overlay = current(state.overlay);
    const own = state.nodeData === null || mode !== "data" ? null : parts.data(model, state.nodeData);
    const result = parts.result(mode, resultModel(model, state), state);
    const asked = overlay?.kind === mode ? sized(overlay.values) : null;
    const values = isResultMode(mode)
      ? ((own ?? result)?.values ?? null)
      : mode === "mapped"
        ? mlxColumn(state)
        : asked;
    const plan = plannedColumn(state);
    const device = mode === "planned" ? plan : (predicted ?? (mode === "device" ? values : null));
    const segment = segments ?? (mode === "segment" ? values : null);
    const legend = overlay?.legend ?? NO_LEGEND;
    const gradient = state.nodeData?.gradient ?? NO_GRADIENT;
    const paint = parts.paint(picture, mode, keepColumns({ device, work, segment, values, legend, gradient }));

    const { selection } = state;
    const alone = selection.kind === "segment" ? selection.index : -1;
    const highlight = parts.highlight(state.only, model, work, state.stageChanges);
    const isolated = state.isolated === null ? -1 : DEVICES.indexOf(state.isolated);
    return keepPicture({
      ...{ picture, paint, route, overlay, result, highlight, values },
      data: own,
      hops: parts.hops(scene, route, segments),
      segments: mode === "segment" && route !== null ? parts.frames(scene, paint, route) : NO_FRAMES,
      selectedHop: selection.kind === "hop" ? selection.index : -1,
      cards: keepCards({
        selectedBox: selectedBox(picture, selection),
        dimmed: parts.dimmed(scene, paint, segments, isolated, alone, highlight),
        hits: parts.hits(scene, state.graphHits),
        quantity: parts.quantity(scene, paint, overlay, result, route),
        warning: parts.warning(route),
        planned: parts.planned(mode, columns.device, plan),
        note: parts.note(picture, device),
        inside: parts.inside(picture, route, segments),
        changed: parts.changed(scene, state.stageChanges),
      }),
      describe: parts.describe(picture, paint),
      devices: parts.devices(mode, route, model, device),
      kinds: parts.kinds(model.hidden, model.kinds),
    });
  };
}

/** Shares of measured times follow from bytes read, which weights change and the picture does not have. */
function resultModel(drawn: GraphModel, state: PictureState): GraphModel {
  const shown = current(shownGraph(state));
  return shown !== null && isSameStructure(shown, drawn) ? shown : drawn;
}

function createParts() {
  const measured = memo(measuredColumn);
  const errors = memo(weightErrorColumn);
  return {
    segments: memo((route: RouteView | null, nodeCount: number): Segments =>
      route === null ? null : segmentsOfNodes(nodeCount, route),
    ),
    result(mode: GraphMode, model: GraphModel, { profiled, weightErrors, phase }: PictureState): ResultColumn | null {
      if (mode === "measured" && profiled !== null) return measured(model, profiled, phase);
      return mode === "error" && weightErrors !== null ? errors(model, weightErrors.rows) : null;
    },
    data: memo(nodeDataColumn),
    paint: memo(paintScene),
    highlight: memo(highlightNodes),
    hops: memo((scene: Scene, route: RouteView | null, segments: Segments) =>
      route === null || segments === null ? NONE : hopMarks(scene, route, segments),
    ),
    inside: memo((picture: Picture, route: RouteView | null, segments: Segments) =>
      route === null || segments === null ? NONE : hopsInside(picture, route, segments),
    ),
    changed: memo((scene: Scene, changes: Changes | null) =>
      changes === null ? NONE : changedBoxes(scene, changes.nodes),
    ),
    hits: memo(
      (scene: Scene, nodes: readonly number[]): ReadonlySet<number> =>
        new Set(nodes.map((node) => scene.boxOfNode[node] ?? -1).filter((box) => box >= 0)),
    ),
    dimmed: memo(
      (scene: Scene, paint: Paint, segments: Segments, device: number, segment: number, highlight: Highlight | null) =>
        dimmedBoxes(scene, paint, segments, { device, segment, highlight: highlight?.nodes ?? null }),
    ),
    frames: memo((scene: Scene, paint: Paint, route: RouteView) =>
      segmentFrames(scene, paint.segments, segmentLabel(route, segmentWork)),
    ),
    quantity: memo(quantities),
    warning: memo(warnings),
    planned: memo(plannedElsewhere),
    note: memo(notes),
    describe: memo(descriptions),
    devices: memo(deviceCounts),
    kinds: memo(kindCounts),
  };
}

function deviceCounts(
  mode: GraphMode,
  route: RouteView | null,
  model: GraphModel,
  column: Column,
): readonly DeviceCount[] {
  if (mode !== "planned" && route !== null) return route.devices;
  if (column === null) return [];
  const counts = DEVICES.map(() => 0);
  for (let node = 0; node < model.view.nodeCount; node++)
    if (model.hidden[node] === 0) counts[column[node] ?? 0] = (counts[column[node] ?? 0] ?? 0) + 1;
  return DEVICES.flatMap((device, code) =>
    device === "none" || (counts[code] ?? 0) === 0 ? [] : [{ device, ops: counts[code] ?? 0 }],
  );
}
