/** The whole picture in small, with the part that is on the screen. Redrawn on layout or mode change; only its frame moves. */
import type { PointerEvent, ReactNode } from "react";
import { useCallback, useEffect, useRef } from "react";
import { deviceOf } from "../../../main/contract/views/common.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import type { CanvasColors } from "../../drawing/colors.ts";
import type { Viewport } from "../../drawing/lod.ts";
import { worldRect } from "../../drawing/lod.ts";
import type { Paint } from "../../drawing/paint.ts";
import type { Picture } from "../../drawing/graphModes.ts";
import { isSmall } from "./graphState.ts";
import { showsEverything } from "./view.ts";
import styles from "./Graph.module.css";

const WIDTH = 180;
const HEIGHT = 140;
const MARGIN = 10;

export interface MinimapProps {
  readonly picture: Picture;
  readonly paint: Paint;
  readonly viewport: () => Viewport;
  readonly subscribe: (listener: () => void) => () => void;
  readonly size: { readonly width: number; readonly height: number };
  readonly colors: CanvasColors;
  readonly onMove: (x: number, y: number) => void;
}

/** Gives a function that cancels it. */
function afterFrame(work: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const frame = requestAnimationFrame(() => {
    timer = setTimeout(work);
  });
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

export function Minimap({ picture, paint, viewport, subscribe, size, colors, onMove }: MinimapProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const { scene } = picture;
  // A program is a tall strip: both directions are scaled for themselves, or nothing would be seen.
  const scaleX = Math.min(0.3, (WIDTH - 2 * MARGIN) / Math.max(1, scene.width));
  const scaleY = Math.min(0.14, (HEIGHT - 2 * MARGIN) / Math.max(1, scene.height));
  const toX = useCallback(
    (x: number): number => (WIDTH - scene.width * scaleX) / 2 + (x - scene.left) * scaleX,
    [scaleX, scene.width, scene.left],
  );
  const toY = useCallback(
    (y: number): number => (HEIGHT - scene.height * scaleY) / 2 + y * scaleY,
    [scaleY, scene.height],
  );

  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined) return;
    // After the frame of the picture itself: a map of ten thousand boxes takes as long as the
    // picture.
    return afterFrame(() => {
      const ratio = devicePixelRatio;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, WIDTH, HEIGHT);
      context.globalAlpha = 0.85;
      for (let box = 0; box < scene.boxCount; box++) {
        if (scene.kind[box] === BOX_KINDS.frame) continue;
        const device = deviceOf(paint.device[box] ?? 0);
        context.fillStyle = paint.heat[box] ?? (device === "none" ? colors.lineStrong : colors.device[device]);
        context.fillRect(
          toX(scene.x[box] ?? 0),
          toY(scene.y[box] ?? 0),
          Math.max(2, (scene.w[box] ?? 0) * scaleX),
          Math.max(1, (scene.h[box] ?? 0) * scaleY * 0.7),
        );
      }
    });
  }, [scene, paint, colors, scaleX, scaleY, toX, toY]);

  useEffect(() => {
    const move = (): void => {
      const view = worldRect(viewport(), size.width, size.height);
      const element = frame.current;
      if (element === null) return;
      const left = Math.max(1, Math.min(WIDTH - 8, toX(view.x)));
      const right = Math.max(8, Math.min(WIDTH - 1, toX(view.x + view.w)));
      const top = Math.max(1, Math.min(HEIGHT - 6, toY(view.y)));
      const bottom = Math.max(6, Math.min(HEIGHT - 1, toY(view.y + view.h)));
      element.style.transform = `translate(${left}px, ${top}px)`;
      element.style.width = `${Math.max(6, right - left)}px`;
      element.style.height = `${Math.max(5, bottom - top)}px`;
      // No map while the whole picture is in view.
      const map = element.parentElement;
      if (map !== null) map.hidden = showsEverything(scene, viewport(), size);
    };
    move();
    return subscribe(move);
  }, [subscribe, viewport, size, scene, toX, toY]);

  const go = (event: PointerEvent<HTMLDivElement>): void => {
    if (event.buttons !== 1) return;
    // Small windows show it scaled down.
    const { left, top, width } = event.currentTarget.getBoundingClientRect();
    const shrunk = width / (WIDTH + 2);
    onMove(((event.clientX - left) / shrunk - toX(0)) / scaleX, ((event.clientY - top) / shrunk - toY(0)) / scaleY);
  };
  const ratio = typeof devicePixelRatio === "number" ? devicePixelRatio : 1;
  return (
    <div
      className={styles["minimap"]}
      data-small={isSmall(size.width, size.height)}
      onPointerDown={go}
      onPointerMove={go}
      aria-hidden="true"
      data-no-hover
    >
      <canvas ref={canvas} width={WIDTH * ratio} height={HEIGHT * ratio} style={{ width: WIDTH, height: HEIGHT }} />
      <div ref={frame} className={styles["minimapFrame"]} />
    </div>
  );
}
