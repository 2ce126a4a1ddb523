/**
 * The canvas: a drawn underlay and, above it, React Flow with the few boxes that are near enough to be elements. Both share
 * one transform; panning draws the underlay again and touches React only when the window of mounted boxes is left.
 */
import { ReactFlow, ReactFlowProvider, useReactFlow, useStoreApi as useFlowStore } from "@xyflow/react";
import type { Node } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import type { KeyboardEvent, MouseEvent, ReactNode } from "react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { createGridIndex } from "../../graph/gridIndex.ts";
import type { GridIndex } from "../../graph/gridIndex.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import type { Scene } from "../../graph/scene.ts";
import { onThemeChange } from "../../ui/theme.ts";
import { useSize } from "../../ui/useSize.ts";
import type { CardContext } from "./cardContext.ts";
import { readColors } from "./colors.ts";
import { createPatterns, drawUnderlay } from "./draw.ts";
import { GraphCard, GraphCardContext } from "./GraphCard.tsx";
import type { CardWindow, Detail, Viewport } from "./lod.ts";
import { cardWindow, detailAt, fitViewport, hasCards, stillInside, worldRect, ZOOM } from "./lod.ts";
import { Minimap } from "./Minimap.tsx";
import type { Paint } from "./paint.ts";
import type { Picture, ViewRequest } from "./slice.ts";
import { boxOfGroup, nearestBoxOfGroup, neighbour } from "./walk.ts";
import type { Direction } from "./walk.ts";
import styles from "./Graph.module.css";

export interface GraphCanvasProps {
  readonly picture: Picture;
  readonly paint: Paint;
  readonly hops: ReadonlyMap<number, string>;
  readonly cards: Omit<CardContext, "full" | "picture" | "paint">;
  readonly anchorGroup: number | null;
  readonly request: ViewRequest | null;
  /** Another picture is on its way: what asks for the whole waits for it. */
  readonly pending: boolean;
  readonly actions: CanvasActions;
}

export interface CanvasActions {
  readonly selectBox: (box: number) => void;
  readonly openBox: (box: number) => void;
  readonly describe: (box: number) => string;
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
const KEYS: { readonly [key: string]: Direction } = {
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
};

function Canvas({ picture, paint, hops, cards, anchorGroup, request, pending, actions }: GraphCanvasProps): ReactNode {
  const { scene } = picture;
  const [container, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const flow = useReactFlow();
  const flowStore = useFlowStore();
  const boxIndex = useMemo(() => createGridIndex(scene), [scene]);
  const edgeIndex = useMemo(() => createEdgeIndex(scene), [scene]);
  const [mounted, setMounted] = useState<{ readonly window: CardWindow | null; readonly detail: Detail }>({
    window: null,
    detail: "tiles",
  });
  const [theme, setTheme] = useState(0);
  useEffect(() => onThemeChange(() => setTheme((n) => n + 1)), []);

  const viewport = useCallback((): Viewport => {
    const [x, y, zoom] = flowStore.getState().transform;
    return { x, y, zoom };
  }, [flowStore]);

  // Colours are read once per theme, never per frame.
  const look = useMemo(() => {
    void theme;
    const colors = readColors(document.documentElement);
    return { colors, patterns: createPatterns(colors) };
  }, [theme]);

  const latest = useRef({ mounted });
  latest.current = { mounted };

  /** Keeps the mounted window as long as the view is inside it; otherwise asks React for the next one. */
  const updateWindow = useCallback(
    (at: Viewport): void => {
      const detail = detailAt(at.zoom);
      const view = worldRect(at, size.width, size.height);
      const now = latest.current.mounted;
      if (!hasCards(detail)) {
        if (now.window !== null || now.detail !== detail) setMounted({ window: null, detail });
        return;
      }
      if (now.window !== null && now.detail === detail && stillInside(now.window.rect, view)) return;
      setMounted({ window: cardWindow(boxIndex, view), detail });
    },
    [boxIndex, size.width, size.height],
  );

  const draw = useCallback((): void => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined || size.width === 0) return;
    const at = viewport();
    const ratio = devicePixelRatio;
    const view = worldRect(at, size.width, size.height);
    const shown = latest.current.mounted;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, size.width * ratio, size.height * ratio);
    context.setTransform(at.zoom * ratio, 0, 0, at.zoom * ratio, at.x * ratio, at.y * ratio);
    const detail = shown.window === null && hasCards(detailAt(at.zoom)) ? "names" : detailAt(at.zoom);
    drawUnderlay(context, {
      picture,
      paint,
      ...look,
      viewport: at,
      detail,
      view,
      boxes: boxIndex.query(view),
      edges: edgeIndex.query(view),
      mounted: new Set(shown.window?.boxes ?? []),
      hops,
      selectedBox: cards.selectedBox,
      hitBoxes: cards.hits,
      isolated: cards.isolated,
    });
  }, [picture, paint, look, hops, cards, boxIndex, edgeIndex, size, viewport]);

  const frame = useRef(0);
  const requestDraw = useCallback((): void => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      updateWindow(viewport());
      draw();
    });
  }, [draw, updateWindow, viewport]);
  useEffect(() => {
    requestDraw();
    let before = flowStore.getState().transform;
    const stop = flowStore.subscribe((state) => {
      if (state.transform === before) return;
      before = state.transform;
      requestDraw();
    });
    return () => {
      stop();
      cancelAnimationFrame(frame.current);
      frame.current = 0;
    };
  }, [requestDraw, flowStore, mounted]);

  // A new picture or size: the old window speaks of other boxes.
  useLayoutEffect(() => {
    const detail = detailAt(viewport().zoom);
    setMounted({
      window:
        hasCards(detail) && size.width > 0
          ? cardWindow(boxIndex, worldRect(viewport(), size.width, size.height))
          : null,
      detail,
    });
  }, [boxIndex, size.width, size.height, viewport]);

  useViewport({ picture, anchorGroup, request, pending, size, selected: cards.selectedBox, viewport });

  const nodes = useMemo(() => flowNodes(scene, mounted.window?.boxes ?? []), [scene, mounted.window]);
  const cardContext = useMemo<CardContext>(
    () => ({ ...cards, picture, paint, full: mounted.detail === "full" }),
    [cards, picture, paint, mounted.detail],
  );

  const boxAt = (event: MouseEvent): number => {
    const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    return boxIndex.hit(x, y);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const direction = KEYS[event.key];
    if (direction === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const next = neighbour(scene, cards.selectedBox, direction);
    if (next < 0) return;
    actions.selectBox(next);
    revealBox(flow, viewport(), size, scene, next);
  };
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
      onKeyDown={onKeyDown}
    >
      <canvas
        ref={canvas}
        className={styles["underlay"]}
        width={Math.round(size.width * ratio)}
        height={Math.round(size.height * ratio)}
        style={{ width: size.width, height: size.height }}
        aria-hidden="true"
      />
      <GraphCardContext value={cardContext}>
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
          onNodeClick={(_event, node) => actions.selectBox(Number(node.id))}
          onNodeDoubleClick={(_event, node) => actions.openBox(Number(node.id))}
          onPaneClick={(event) => actions.selectBox(boxAt(event))}
          onDoubleClick={(event) => {
            if (!(event.target as Element).classList.contains("react-flow__pane")) return;
            const box = boxAt(event);
            if (box >= 0) actions.openBox(box);
          }}
        />
      </GraphCardContext>
      <Minimap
        picture={picture}
        paint={paint}
        viewport={viewport}
        subscribe={flowStore.subscribe}
        size={size}
        theme={theme}
        onMove={(x, y) => void flow.setCenter(x, y, { zoom: viewport().zoom })}
      />
      <p className="visually-hidden" aria-live="polite">
        {cards.selectedBox < 0 ? "" : actions.describe(cards.selectedBox)}
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

/** Bounding boxes of edges, in a grid of their own. */
function createEdgeIndex(scene: Scene): GridIndex {
  const [x, y, w, h] = [
    new Float32Array(scene.edgeCount),
    new Float32Array(scene.edgeCount),
    new Float32Array(scene.edgeCount),
    new Float32Array(scene.edgeCount),
  ];
  for (let edge = 0; edge < scene.edgeCount; edge++) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = scene.edgeStart[edge] ?? 0; i < (scene.edgeStart[edge + 1] ?? 0); i++) {
      const [px, py] = [scene.points[2 * i] ?? 0, scene.points[2 * i + 1] ?? 0];
      [left, right, top, bottom] = [Math.min(left, px), Math.max(right, px), Math.min(top, py), Math.max(bottom, py)];
    }
    [x[edge], y[edge], w[edge], h[edge]] = [left, top, right - left, bottom - top];
  }
  return createGridIndex({ x, y, w, h });
}

type Flow = ReturnType<typeof useReactFlow>;

/** Moves the view as little as needed to have the box on the screen. */
function revealBox(
  flow: Flow,
  at: Viewport,
  size: { readonly width: number; readonly height: number },
  scene: Scene,
  box: number,
): void {
  const view = worldRect(at, size.width, size.height);
  const [x, y, w, h] = [scene.x[box] ?? 0, scene.y[box] ?? 0, scene.w[box] ?? 0, scene.h[box] ?? 0];
  const margin = 60 / at.zoom;
  const shift = (low: number, length: number, from: number, room: number): number =>
    low < from + margin
      ? low - from - margin
      : low + length > from + room - margin
        ? Math.min(low - from - margin, low + length - from - room + margin)
        : 0;
  const [dx, dy] = [shift(x, w, view.x, view.w), shift(y, h, view.y, view.h)];
  if (dx !== 0 || dy !== 0) void flow.setViewport({ x: at.x - dx * at.zoom, y: at.y - dy * at.zoom, zoom: at.zoom });
}

interface ViewportInput {
  readonly picture: Picture;
  readonly anchorGroup: number | null;
  readonly request: ViewRequest | null;
  readonly pending: boolean;
  readonly size: { readonly width: number; readonly height: number };
  readonly selected: number;
  readonly viewport: () => Viewport;
}

/** Where the view goes: fits a first picture, keeps an opened group in its place, and does what was asked for. */
function useViewport({ picture, anchorGroup, request, pending, size, selected, viewport }: ViewportInput): void {
  const flow = useReactFlow();
  const before = useRef<Picture | null>(null);
  const done = useRef(0);
  const touched = useRef(false);
  const hasRoom = size.width > 0 && size.height > 0;
  useLayoutEffect(() => {
    if (!hasRoom) return;
    const old = before.current;
    before.current = picture;
    const { scene } = picture;
    if (old === picture) return;
    if (old === null || old.model !== picture.model) {
      // Another target of the same model: the same boxes, so the view may stay.
      if (old === null || !touched.current || old.scene.boxCount !== scene.boxCount)
        void flow.setViewport(firstViewport(scene, size.width, size.height));
      return;
    }
    if (anchorGroup === null) {
      if (!touched.current) void flow.setViewport(firstViewport(scene, size.width, size.height));
      return;
    }
    touched.current = true;
    const [from, to] = [anchorBox(old, anchorGroup), anchorBox(picture, anchorGroup)];
    if (from < 0 || to < 0) return;
    const at = viewport();
    const middle = (of: Scene, box: number): number => (of.x[box] ?? 0) + (of.w[box] ?? 0) / 2;
    const wide = scene.kind[to] === BOX_KINDS.frame ? (scene.w[to] ?? 0) * at.zoom : 0;
    const x = at.x + (middle(old.scene, from) - middle(scene, to)) * at.zoom;
    const left = (scene.x[to] ?? 0) * at.zoom + x;
    // What was opened stays where it was, moved sideways only as far as needed to see all of it.
    const shift =
      wide === 0 || wide > size.width - 32 ? 0 : Math.max(0, 16 - left) - Math.max(0, left + wide - size.width + 16);
    void flow.setViewport({
      zoom: at.zoom,
      x: x + shift,
      y: at.y + ((old.scene.y[from] ?? 0) - (scene.y[to] ?? 0)) * at.zoom,
    });
  }, [picture, hasRoom, anchorGroup, flow, viewport, size.width, size.height]);

  useLayoutEffect(() => {
    if (request === null || request.serial === done.current || !hasRoom) return;
    const target = requestTarget(picture, request, selected);
    if (target === "wait" || (pending && (request.kind === "fit" || request.kind === "top"))) return;
    done.current = request.serial;
    touched.current = true;
    if (target === "top") void flow.setViewport(firstViewport(picture.scene, size.width, size.height));
    else if (target === "in") void flow.zoomIn();
    else if (target === "out") void flow.zoomOut();
    else if (request.kind === "fit") void flow.setViewport(fitBetweenBars(picture.scene, size.width, size.height));
    else void flow.setViewport(fitViewport(target.rect, size.width, size.height, target.margin, target.most));
  }, [picture, request, pending, selected, hasRoom, flow, size.width, size.height]);
}

type ViewTarget =
  | "wait"
  | "top"
  | "in"
  | "out"
  | { readonly rect: { x: number; y: number; w: number; h: number }; readonly margin: number; readonly most: number };

function requestTarget(picture: Picture, request: ViewRequest, selected: number): ViewTarget {
  const { scene } = picture;
  const rectOf = (box: number) => ({
    x: scene.x[box] ?? 0,
    y: scene.y[box] ?? 0,
    w: scene.w[box] ?? 0,
    h: scene.h[box] ?? 0,
  });
  switch (request.kind) {
    case "top":
      return "top";
    case "zoomIn":
      return "in";
    case "zoomOut":
      return "out";
    case "fit":
      return { rect: boundsOf(scene), margin: 40, most: 1 };
    case "fitSelection":
      return { rect: selected < 0 ? boundsOf(scene) : rectOf(selected), margin: 120, most: 1.3 };
    case "showGroup": {
      const box = boxOfGroup(scene, request.ref);
      return box < 0 ? "wait" : { rect: rectOf(box), margin: 120, most: 1 };
    }
    case "showNode": {
      const box = scene.boxOfNode[request.ref] ?? -1;
      if (box < 0 || scene.kind[box] !== BOX_KINDS.op) return "wait";
      const { x, y, w, h } = rectOf(box);
      return { rect: { x: x - 200, y: y - 200, w: w + 400, h: h + 400 }, margin: 20, most: 1 };
    }
  }
}

function boundsOf(scene: Scene): { x: number; y: number; w: number; h: number } {
  return { x: scene.left, y: 0, w: scene.width, h: scene.height };
}

/** Room for the bar at the top (two rows of it in a narrow window) and the legend at the bottom. */
const barRoom = (width: number): number => (width < 820 ? 96 : 58);
const LEGEND_ROOM = 58;

/** The smallest zoom at which a first view still shows cards, and not only their outlines. */
const READABLE_ZOOM = 0.7;

function fitBetweenBars(scene: Scene, width: number, height: number): Viewport {
  const top = barRoom(width);
  const fitted = fitViewport(boundsOf(scene), width, height - top - LEGEND_ROOM, 16, 1);
  return { ...fitted, y: fitted.y + top };
}

/** Everything if it can be read that way; otherwise the beginning, at a size that can. */
function firstViewport(scene: Scene, width: number, height: number): Viewport {
  const top = barRoom(width);
  const fitted = fitBetweenBars(scene, width, height);
  if (fitted.zoom >= READABLE_ZOOM) return fitted;
  // The axis of the program in the middle, unless there is room for all of its width.
  const zoom = 0.85;
  const fits = scene.width * zoom <= width - 32;
  return { zoom, x: fits ? width / 2 - (scene.left + scene.width / 2) * zoom : width / 2, y: top };
}

function anchorBox(picture: Picture, group: number): number {
  const box = boxOfGroup(picture.scene, group);
  return box >= 0 ? box : nearestBoxOfGroup(picture, group);
}
