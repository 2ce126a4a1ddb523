/**
 * The pointer over the canvas: lights what lies around a box and says what it is. Everything is done by hand, on a canvas and an
 * element of its own: a moving pointer makes React render nothing.
 */
import { useStoreApi as useFlowStore } from "@xyflow/react";
import type { RefObject } from "react";
import { useEffect, useMemo, useRef } from "react";
import type { GridIndex } from "../../graph/gridIndex.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import type { CanvasColors } from "../../drawing/colors.ts";
import { canvasPen } from "../../canvas/canvasPen.ts";
import { drawHover } from "./drawHover.ts";
import type { Picture } from "../../drawing/graphModes.ts";
import { aroundBox, edgesOfBoxes } from "./hover.ts";
import type { Viewport } from "../../drawing/lod.ts";
import type { Size } from "../../drawing/lod.ts";

export interface HoverInput {
  readonly container: RefObject<HTMLElement | null>;
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  readonly tip: RefObject<HTMLElement | null>;
  readonly picture: Picture;
  readonly boxIndex: GridIndex;
  readonly colors: CanvasColors;
  readonly viewport: () => Viewport;
  readonly size: Size;
  /** The lines of the tooltip of a box; the first is its title. */
  readonly tipOf: (box: number) => readonly string[];
}

/** A pointer that rests this long wants to be told. */
const REST_MS = 220;
/** From here on one box can be told from the next. */
const LEAST_ZOOM = 0.1;
const GAP = 14;

export function useHover(input: HoverInput): void {
  const { container, canvas, tip, picture, viewport } = input;
  const flowStore = useFlowStore();
  const edges = useMemo(() => edgesOfBoxes(picture.scene), [picture]);
  const latest = useRef({ ...input, edges });
  latest.current = { ...input, edges };
  useEffect(() => {
    const [element, note, light] = [container.current, tip.current, canvas.current];
    const context = light?.getContext("2d");
    if (element === null || note === null || context === null || context === undefined) return;
    let box = -1;
    let drawn = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let at = { x: 0, y: 0 };

    const clear = (): void => {
      clearTimeout(timer);
      note.hidden = true;
      if (!drawn) return;
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, context.canvas.width, context.canvas.height);
      drawn = false;
    };
    const forget = (): void => {
      box = -1;
      clear();
    };
    const draw = (): void => {
      const { picture: shown, colors, edges: links } = latest.current;
      const view = viewport();
      const ratio = devicePixelRatio;
      context.setTransform(view.zoom * ratio, 0, 0, view.zoom * ratio, view.x * ratio, view.y * ratio);
      drawHover(canvasPen(context), {
        ...{ scene: shown.scene, colors, zoom: view.zoom, box },
        around: aroundBox(shown, links, box),
      });
      drawn = true;
    };
    const tell = (): void => {
      const [title = "", ...rest] = latest.current.tipOf(box);
      const head = document.createElement("b");
      head.textContent = title;
      note.replaceChildren(
        head,
        ...rest.map((text) => {
          const line = document.createElement("span");
          line.textContent = text;
          return line;
        }),
      );
      note.hidden = false;
      const { width, height } = latest.current.size;
      const [left, top] = [at.x + GAP, at.y + GAP];
      const fit = (from: number, length: number, room: number): number =>
        from + length > room ? Math.max(4, from - length - 2 * GAP) : from;
      note.style.transform = `translate(${fit(left, note.offsetWidth, width)}px, ${fit(top, note.offsetHeight, height)}px)`;
    };
    const move = (event: PointerEvent): void => {
      const { left, top } = element.getBoundingClientRect();
      at = { x: event.clientX - left, y: event.clientY - top };
      const { x, y, zoom } = viewport();
      const { picture: shown, boxIndex } = latest.current;
      const isOver = event.target instanceof Element && event.target.closest("[data-no-hover]") === null;
      const hit =
        event.buttons !== 0 || !isOver || zoom < LEAST_ZOOM ? -1 : boxIndex.hit((at.x - x) / zoom, (at.y - y) / zoom);
      const next = hit >= 0 && shown.scene.kind[hit] !== BOX_KINDS.frame ? hit : -1;
      if (next === box) return;
      clear();
      box = next;
      if (box < 0) return;
      draw();
      timer = setTimeout(tell, REST_MS);
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerdown", forget);
    element.addEventListener("pointerleave", forget);
    let before = flowStore.getState().transform;
    const stop = flowStore.subscribe(({ transform }) => {
      if (transform !== before) forget();
      before = transform;
    });
    return () => {
      forget();
      stop();
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerdown", forget);
      element.removeEventListener("pointerleave", forget);
    };
    // Another picture has other boxes: the light goes out.
  }, [container, canvas, tip, flowStore, viewport, picture]);
}
