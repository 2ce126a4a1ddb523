/**
 * The canvas: a drawn underlay and, above it, React Flow with the few boxes that are near enough to be elements. Both share
 * one transform.
 */
import { ReactFlow, ReactFlowProvider, useReactFlow, useStoreApi as useFlowStore } from "@xyflow/react";
import type { Node } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import type { MouseEvent, ReactNode } from "react";
import { useEffect, useMemo, useRef } from "react";
import { BOX_KINDS } from "../../graph/lift.ts";
import type { Scene } from "../../graph/scene.ts";
import { useSize } from "../../ui/useSize.ts";
import type { CardContext } from "../../drawing/cardContext.ts";
import type { ChangeKind } from "../../drawing/changes.ts";
import { GraphCard, GraphCardContext } from "./GraphCard.tsx";
import type { HopMark } from "../../drawing/hops.ts";
import { ZOOM } from "../../drawing/lod.ts";
import { Minimap } from "./Minimap.tsx";
import type { Paint } from "../../drawing/paint.ts";
import type { ViewRequest } from "./graphState.ts";
import type { Picture } from "../../drawing/graphModes.ts";
import type { Frame } from "../../drawing/svgPicture.ts";
import type { SegmentFrame } from "../../drawing/segmentFrames.ts";
import { tipLines } from "../../drawing/cardText.ts";
import { useHover } from "./useHover.ts";
import { useUnderlay } from "./useUnderlay.ts";
import { useView } from "./useView.ts";
import type { KeptView } from "./view.ts";
import styles from "./Graph.module.css";

export interface GraphCanvasProps {
  readonly picture: Picture;
  readonly paint: Paint;
  readonly hops: ReadonlyMap<number, HopMark>;
  readonly selectedHop: number;
  readonly changed: ReadonlyMap<number, ChangeKind>;
  readonly segments: readonly SegmentFrame[];
  readonly cards: Omit<CardContext, "full" | "picture" | "paint">;
  readonly anchorGroup: number | null;
  readonly request: ViewRequest | null;
  /** A new picture is being laid out: requests for the whole view wait for it. */
  readonly pending: boolean;
  readonly kept: KeptView | null;
  /** What lies over the lower edge. */
  readonly legendHeight: number;
  readonly actions: CanvasActions;
}

export interface CanvasActions {
  readonly selectBox: (box: number) => void;
  readonly openBox: (box: number) => void;
  readonly selectHop: (hop: number) => void;
  readonly describe: (box: number) => string;
  readonly resize: (width: number, height: number) => void;
  readonly keep: (view: KeptView) => void;
  readonly showView: (viewNow: (() => Frame) | null) => void;
}

export function GraphCanvas(props: GraphCanvasProps): ReactNode {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  );
}

const NODE_TYPES = { card: GraphCard };
const NO_EDGES: [] = [];
const FRAME_HEAD_HEIGHT = 40;
function Canvas(props: GraphCanvasProps): ReactNode {
  const { picture, paint, hops, selectedHop, changed, segments, cards, anchorGroup, request, pending } = props;
  const { kept, actions, legendHeight } = props;
  const { scene } = picture;
  const [container, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const flow = useReactFlow();
  const flowStore = useFlowStore();
  const { selectedBox, hits: hitBoxes, dimmed } = cards;
  const underlay = useUnderlay(canvas, size, {
    picture,
    paint,
    hops,
    selectedBox,
    selectedHop,
    hitBoxes,
    changed,
    dimmed,
    words: cards,
    segments,
  });
  const { boxIndex, mounted, viewport } = underlay;
  const moved = useView({
    picture,
    segments,
    anchorGroup,
    request,
    pending,
    size,
    legendHeight,
    selected: selectedBox,
    viewport,
    kept,
    keep: actions.keep,
  });
  const light = useRef<HTMLCanvasElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  useHover({
    ...{ container, canvas: light, tip, picture, boxIndex, viewport, size },
    colors: underlay.colors,
    tipOf: (box) => tipLines({ ...cards, picture, paint }, box),
  });
  const { resize, showView } = actions;
  useEffect(() => resize(size.width, size.height), [resize, size]);
  useEffect(() => {
    showView(() => ({ viewport: viewport(), size }));
    return () => showView(null);
  }, [showView, viewport, size]);

  const nodes = useMemo(() => flowNodes(scene, mounted.window?.boxes ?? []), [scene, mounted.window]);
  const cardContext = useMemo<CardContext>(
    () => ({ ...cards, picture, paint, full: mounted.detail === "full" }),
    [cards, picture, paint, mounted.detail],
  );

  /** A chip lies above the boxes; otherwise the box under the pointer. */
  const choose = (event: MouseEvent): void => {
    const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const hop = chipAt(x, y);
    if (hop >= 0) actions.selectHop(hop);
    else actions.selectBox(boxIndex.hit(x, y));
  };
  const chipAt = (x: number, y: number): number =>
    viewport().zoom < 0.5
      ? -1
      : (underlay.chips.find(({ rect }) => x >= rect.x && x <= rect.x + rect.w && y >= rect.y && y <= rect.y + rect.h)
          ?.hop ?? -1);
  const openAt = (event: MouseEvent): void => {
    const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    const box = boxIndex.hit(x, y);
    if (box >= 0) actions.openBox(box);
  };
  const latest = useRef({ moved, choose, openAt, selectBox: actions.selectBox, openBox: actions.openBox });
  latest.current = { moved, choose, openAt, selectBox: actions.selectBox, openBox: actions.openBox };
  // Other colours change the cards, through their context, and nothing of what holds them.
  const boxes = useMemo(
    () => (
      <ReactFlow
        nodes={nodes}
        edges={NO_EDGES}
        nodeTypes={NODE_TYPES}
        minZoom={ZOOM.min}
        maxZoom={ZOOM.max}
        onlyRenderVisibleElements={false}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        zoomOnDoubleClick={false}
        panOnScroll
        zoomOnPinch
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
        zoomActivationKeyCode={["Meta", "Control"]}
        proOptions={{ hideAttribution: true }}
        onMoveStart={(event) => {
          // Moves without an event are the window's own.
          if (event !== null) latest.current.moved();
        }}
        onNodeClick={(_event, node) => latest.current.selectBox(Number(node.id))}
        onNodeDoubleClick={(_event, node) => latest.current.openBox(Number(node.id))}
        onPaneClick={(event) => latest.current.choose(event)}
        onDoubleClick={(event) => {
          if ((event.target as Element).classList.contains("react-flow__pane")) latest.current.openAt(event);
        }}
      />
    ),
    [nodes],
  );
  const ratio = typeof devicePixelRatio === "number" ? devicePixelRatio : 1;
  return (
    <div
      ref={container}
      className={styles["canvas"]}
      role="application"
      aria-roledescription="graph"
      aria-label="Graph. Arrow keys walk from op to op, Enter opens a group, Escape goes up. The structure tree shows the same."
      tabIndex={0}
      data-graph-canvas="true"
    >
      <canvas
        ref={canvas}
        className={styles["underlay"]}
        width={Math.round(size.width * ratio)}
        height={Math.round(size.height * ratio)}
        style={{ width: size.width, height: size.height }}
        aria-hidden="true"
      />
      <GraphCardContext value={cardContext}>{boxes}</GraphCardContext>
      <canvas
        ref={light}
        className={styles["light"]}
        width={Math.round(size.width * ratio)}
        height={Math.round(size.height * ratio)}
        style={{ width: size.width, height: size.height }}
        aria-hidden="true"
      />
      <Minimap
        picture={picture}
        paint={paint}
        viewport={viewport}
        subscribe={flowStore.subscribe}
        size={size}
        colors={underlay.colors}
        onMove={(x, y) => {
          moved();
          void flow.setCenter(x, y, { zoom: viewport().zoom });
        }}
      />
      <div ref={tip} className={styles["tip"]} data-graph-tip="true" hidden aria-hidden="true" />
      <p className="visually-hidden" aria-live="polite">
        {selectedBox < 0 ? "" : actions.describe(selectedBox)}
      </p>
    </div>
  );
}

function flowNodes(scene: Scene, boxes: readonly number[]): Node[] {
  return boxes.map((box) => {
    const isFrame = scene.kind[box] === BOX_KINDS.frame;
    return {
      id: String(box),
      type: "card",
      position: { x: scene.x[box] ?? 0, y: scene.y[box] ?? 0 },
      width: scene.w[box] ?? 0,
      height: isFrame ? FRAME_HEAD_HEIGHT : (scene.h[box] ?? 0),
      handles: [],
      zIndex: isFrame ? 0 : 1,
      data: {},
    };
  });
}
