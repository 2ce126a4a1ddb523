/**
 * The drawn underlay and the window of mounted boxes above it. Panning draws again, once a frame, and touches React only when
 * the window of mounted boxes is left. Only the part in view is drawn, found by two grids: one of boxes, one of edges.
 */
import { useStoreApi as useFlowStore } from "@xyflow/react";
import type { RefObject } from "react";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { createGridIndex } from "../../graph/gridIndex.ts";
import type { GridIndex, Rect } from "../../graph/gridIndex.ts";
import { onThemeChange } from "../../ui/theme.ts";
import type { CanvasColors } from "../../drawing/colors.ts";
import { readColors } from "../../canvas/readColors.ts";
import type { Chip } from "../../drawing/chips.ts";
import { createEdgeIndex } from "../../drawing/edgeIndex.ts";
import { placeChips } from "../../drawing/chips.ts";
import { drawUnderlay } from "../../drawing/draw.ts";
import { chipFont } from "../../drawing/drawEdges.ts";
import { drawMap, drawMarks, hasMarks, hasMarksIn } from "../../drawing/drawMap.ts";
import type { DrawInput } from "../../drawing/drawInput.ts";
import { canvasPen, createPatterns } from "../../canvas/canvasPen.ts";
import type { CardWindow, Detail, Viewport } from "../../drawing/lod.ts";
import { cardWindow, detailAt, hasCards, stillInside, worldRect } from "../../drawing/lod.ts";
import { createTileCache } from "./tileCache.ts";
import type { DrawPart } from "./tileCache.ts";
import { labelRects } from "../../drawing/segmentFrames.ts";
import type { Size } from "../../drawing/lod.ts";
import { boundsOf } from "../../drawing/lod.ts";

/** A stretched map is drawn anew when the view has rested for this long. */
const REST_MS = 120;

export type UnderlayInput = Pick<
  DrawInput,
  | "picture"
  | "paint"
  | "hops"
  | "selectedBox"
  | "selectedHop"
  | "hitBoxes"
  | "changed"
  | "dimmed"
  | "words"
  | "segments"
>;

export interface Underlay {
  readonly boxIndex: GridIndex;
  readonly chips: readonly Chip[];
  readonly mounted: { readonly window: CardWindow | null; readonly detail: Detail };
  readonly viewport: () => Viewport;
  readonly colors: CanvasColors;
}

export function useUnderlay(canvas: RefObject<HTMLCanvasElement | null>, size: Size, input: UnderlayInput): Underlay {
  const { scene } = input.picture;
  const flowStore = useFlowStore();
  const boxIndex = useMemo(() => createGridIndex(scene), [scene]);
  const edgeIndex = useMemo(() => createEdgeIndex(scene), [scene]);
  const [mounted, setMounted] = useState<Underlay["mounted"]>({ window: null, detail: "tiles" });
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

  const { picture, paint, hops, selectedBox, selectedHop, hitBoxes, changed, dimmed, words, segments } = input;
  const chips = useMemo(() => {
    const ruler = new OffscreenCanvas(1, 1).getContext("2d");
    if (ruler === null || hops.size === 0) return [];
    ruler.font = chipFont(look.colors.font);
    return placeChips(scene, hops, {
      widthOf: (text) => ruler.measureText(text).width,
      boxes: boxIndex,
      taken: labelRects(segments),
    });
  }, [scene, hops, boxIndex, look, segments]);
  // Tiles are good for one look of one picture; marks lie in tiles of their own.
  const map = useMemo(() => {
    void [paint, look, dimmed];
    return createTileCache(boundsOf(picture.scene));
  }, [picture, paint, look, dimmed]);
  const marks = useMemo(() => {
    void [look, hops];
    return hasMarks({ selectedBox, selectedHop, hitBoxes, changed }) ? createTileCache(boundsOf(picture.scene)) : null;
  }, [picture, look, hops, selectedBox, selectedHop, hitBoxes, changed]);
  const rest = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const again = useRef<() => void>(() => undefined);
  const draw = useCallback((): void => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined || size.width === 0) return;
    const at = viewport();
    const ratio = devicePixelRatio;
    const shown = latest.current.mounted;
    const detail = shown.window === null && hasCards(detailAt(at.zoom)) ? "names" : detailAt(at.zoom);
    const inputOf = (from: Viewport, view: Rect, edges: readonly number[]): DrawInput => ({
      picture,
      paint,
      ...look,
      viewport: from,
      detail,
      view,
      boxes: boxIndex.query(view),
      edges,
      // A jump from near to far is drawn before the cards are gone.
      mounted: new Set(detail === "tiles" ? [] : shown.window?.boxes),
      hops,
      chips,
      selectedBox,
      selectedHop,
      hitBoxes,
      changed,
      dimmed,
      words,
      segments,
    });
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, size.width * ratio, size.height * ratio);
    clearTimeout(rest.current);
    if (detail === "tiles") {
      const plain: DrawPart = (part, zoom) => {
        const of = inputOf({ x: 0, y: 0, zoom }, part, []);
        return of.boxes.length === 0 ? null : (on) => drawMap(canvasPen(on), of);
      };
      const marked: DrawPart = (part, zoom) => {
        const of = inputOf({ x: 0, y: 0, zoom }, part, selectedBox < 0 && selectedHop < 0 ? [] : edgeIndex.query(part));
        return hasMarksIn(of) ? (on) => drawMarks(canvasPen(on), of) : null;
      };
      const layers = [map.show(context, at, size, ratio, plain), marks?.show(context, at, size, ratio, marked)];
      if (!layers.includes("stretched")) return;
      rest.current = setTimeout(() => {
        map.refresh();
        marks?.refresh();
        again.current();
      }, REST_MS);
      return;
    }
    context.setTransform(at.zoom * ratio, 0, 0, at.zoom * ratio, at.x * ratio, at.y * ratio);
    const view = worldRect(at, size.width, size.height);
    drawUnderlay(canvasPen(context), inputOf(at, view, edgeIndex.query(view)));
  }, [
    canvas,
    picture,
    paint,
    look,
    hops,
    selectedBox,
    selectedHop,
    hitBoxes,
    changed,
    dimmed,
    words,
    segments,
    chips,
    boxIndex,
    edgeIndex,
    size,
    viewport,
    map,
    marks,
  ]);

  const frame = useRef(0);
  const requestDraw = useCallback((): void => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      updateWindow(viewport());
      draw();
    });
  }, [draw, updateWindow, viewport]);
  again.current = requestDraw;
  useEffect(() => () => clearTimeout(rest.current), []);
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

  // A new picture or size: the old window is about other boxes.
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

  return { boxIndex, chips, mounted, viewport, colors: look.colors };
}
