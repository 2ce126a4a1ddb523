/** One recording on its canvas: wheel and pinch zoom, a drag selects, a drag of the ruler or with Shift pans, a click chooses. */
import type { PointerEvent, ReactNode } from "react";
import { useEffect, useRef, useState } from "react";
import type { Selection } from "../../../main/contract/recordings/tracks.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { onThemeChange } from "../../ui/theme.ts";
import type { TimeRange } from "./timeline.ts";
import { columnsOf, panRange, sliceAt, zoomRange } from "./timeline.ts";
import { drawTimeline } from "./timelineDrawing.ts";
import type { TimelineLayout } from "./timelineLayout.ts";
import { RULER, rowAt } from "./timelineLayout.ts";
import { describeAt, stepAt } from "./timelineText.ts";
import styles from "./Profile.module.css";

export interface TimelineCanvasProps {
  readonly profile: ProfileView;
  readonly layout: TimelineLayout;
  readonly width: number;
  /** Of the common axis, and what of it the view can show. */
  readonly range: TimeRange;
  readonly whole: TimeRange;
  readonly onRange: (range: TimeRange) => void;
  /** Added to the times of this recording on the common axis. */
  readonly offset: number;
  readonly step: number;
  readonly slice: number;
  readonly marked: ReadonlySet<number>;
  readonly selection: Selection | null;
  readonly onSelect: (selection: Selection | null) => void;
  readonly onStep: (step: number) => void;
  readonly onSlice: (slice: number) => void;
}

interface Drag {
  readonly x: number;
  readonly y: number;
  readonly range: TimeRange;
  readonly pans: boolean;
  moved: boolean;
}

interface Tip {
  readonly x: number;
  readonly y: number;
  readonly text: string;
}

const NEAR = 3;

export function TimelineCanvas(props: TimelineCanvasProps): ReactNode {
  const { profile, layout, width, range, whole, onRange, offset, step, slice, marked, selection } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<Drag | null>(null);
  const [tip, setTip] = useState<Tip | null>(null);
  const [theme, setTheme] = useState(0);
  const { label, height } = layout;
  const room = Math.max(1, width - label - 8);
  useEffect(() => onThemeChange(() => setTheme((n) => n + 1)), []);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined || width === 0) return;
    void theme;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const own = { from: range.from - offset, to: range.to - offset };
    drawTimeline(context, { profile, layout, range: own, offset, width, room, step, slice, marked, selection });
  }, [profile, layout, range, offset, width, room, step, slice, marked, selection, theme]);

  const view = useRef({ range, onRange, room, label, whole });
  view.current = { range, onRange, room, label, whole };
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    // Not passive: the page must not scroll or zoom while the wheel zooms here. A pinch is a wheel with Control.
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const now = view.current;
      const span = now.range.to - now.range.from;
      const at = now.range.from + ((event.offsetX - now.label) / now.room) * span;
      const isSideways = !event.ctrlKey && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY));
      const by = event.deltaX === 0 ? event.deltaY : event.deltaX;
      now.onRange(
        isSideways
          ? panRange(now.range, (by / now.room) * span, now.whole)
          : zoomRange(now.range, (event.ctrlKey ? 1.01 : 1.0015) ** event.deltaY, at, now.whole),
      );
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);

  const span = range.to - range.from;
  /** In the times of this recording. */
  const timeAt = (x: number): number => range.from - offset + ((x - label) / room) * span;
  const slack = (2 / room) * span;

  const selectTo = ({ x, y }: Drag, toX: number, toY: number): void => {
    const rows = [rowAt(layout, y), rowAt(layout, toY)].map((row) => (row < 0 ? layout.rows.length - 1 : row));
    const times = [timeAt(x), timeAt(toX)].map((time) =>
      Math.min(whole.to - offset, Math.max(whole.from - offset, time)),
    );
    const selected = { from: Math.min(...times), to: Math.max(...times) };
    props.onSelect({ ...selected, first: Math.min(...rows), last: Math.max(...rows) });
  };
  const onPointerMove = (event: PointerEvent): void => {
    const { offsetX: x, offsetY: y } = event.nativeEvent;
    const held = drag.current;
    if (held !== null) {
      if (Math.abs(x - held.x) > NEAR) held.moved = true;
      if (!held.moved) return;
      setTip(null);
      if (held.pans) onRange(panRange(held.range, (-(x - held.x) / room) * span, whole));
      else selectTo(held, x, y);
      return;
    }
    const row = layout.rows[rowAt(layout, y)];
    const text = row === undefined || x < label ? "" : describeAt(profile, row.track, timeAt(x), slack);
    setTip(text === "" ? null : { x, y, text });
  };
  const onPointerUp = (event: PointerEvent): void => {
    const held = drag.current;
    drag.current = null;
    if (held === null || held.moved) return;
    const { offsetX: x, offsetY: y } = event.nativeEvent;
    const row = layout.rows[rowAt(layout, y)];
    props.onSelect(null);
    const track = row?.track;
    const found =
      track === undefined || (track.kind !== "lane" && track.kind !== "thread")
        ? -1
        : sliceAt(columnsOf(profile, track), track.kind === "lane" ? track.index : 0, timeAt(x), slack);
    if (found >= 0) props.onSlice(found);
    else props.onStep(stepAt(profile, timeAt(x)));
  };
  const pixels = (size: number): number =>
    Math.round(size * (typeof devicePixelRatio === "number" ? devicePixelRatio : 1));
  return (
    <div className={styles["canvas"]}>
      <canvas
        ref={canvas}
        width={pixels(width)}
        height={pixels(height)}
        style={{ width, height }}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const { offsetX: x, offsetY: y } = event.nativeEvent;
          drag.current = { x, y, range, pans: y < RULER || event.shiftKey, moved: false };
        }}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={() => {
          drag.current = null;
        }}
        onPointerLeave={() => setTip(null)}
      />
      {tip === null ? null : (
        <p
          className={styles["tip"]}
          role="tooltip"
          style={{ top: tip.y + 16, ...(tip.x > width / 2 ? { right: width - tip.x } : { left: tip.x }) }}
        >
          {tip.text}
        </p>
      )}
    </div>
  );
}
