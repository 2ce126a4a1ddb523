/**
 * The timeline: one lane of steps (the prompt, then a tick per token) and one per unit, drawn on a canvas, hit-tested in
 * arrays. W and S zoom, A and D pan, as in other trace viewers; so do wheel and drag.
 */
import type { KeyboardEvent, PointerEvent, ReactNode } from "react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { sliceHook } from "../../session/context.tsx";
import { onThemeChange } from "../../ui/theme.ts";
import { useSize } from "../../ui/useSize.ts";
import type { ProfileSlice } from "./slice.ts";
import type { TimeRange } from "./timeline.ts";
import { panRange, rangeAround, sliceAt, totalRange, zoomRange } from "./timeline.ts";
import { drawTimeline, laneAt, labelRoom, timelineHeight } from "./timelineDrawing.ts";
import { describeSlice, describeStep, stepAt } from "./timelineText.ts";
import styles from "./Profile.module.css";

const useProfile = sliceHook<ProfileSlice>();
export function Timeline({ profile }: { readonly profile: ProfileView }): ReactNode {
  const [host, { width }] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const whole = useMemo(() => totalRange(profile), [profile]);
  const step = useProfile((s) => s.profileStep);
  const slice = useProfile((s) => s.profileSlice);
  const chooseStep = useProfile((s) => s.chooseStep);
  const chooseSlice = useProfile((s) => s.chooseSlice);
  const [range, setRange] = useState<TimeRange>(() => rangeAround(profile, step, whole));
  const [hover, setHover] = useState("");
  const [theme, setTheme] = useState(0);
  useEffect(() => onThemeChange(() => setTheme((n) => n + 1)), []);
  useEffect(() => setRange(rangeAround(profile, step, totalRange(profile))), [profile]); // eslint-disable-line react-hooks/exhaustive-deps -- a new recording resets the view, a click on a step does not A choice made elsewhere scrolls into view.
  useEffect(() => {
    if (step < 0 || slice < 0) return;
    const start = profile.steps.start[step] ?? 0;
    const end = start + (profile.steps.seconds[step] ?? 0);
    setRange((before) =>
      start < before.to && end > before.from ? before : rangeAround(profile, step, totalRange(profile)),
    );
  }, [profile, step, slice]);
  const { lanes } = profile;
  const label = labelRoom(lanes);
  const height = timelineHeight(lanes.length);
  const room = Math.max(1, width - label - 8);

  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined || width === 0) return;
    void theme;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawTimeline(context, { profile, range, width, height, room, step, slice });
  }, [profile, range, width, height, room, step, slice, theme]);

  const timeAt = useCallback(
    (x: number): number => range.from + ((x - label) / room) * (range.to - range.from),
    [range, room, label],
  );

  useEffect(() => {
    const element = canvas.current;
    if (element === null) return undefined;
    // Not passive: the page must not scroll while the wheel zooms.
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      setRange((before) =>
        sideways
          ? panRange(before, (event.deltaX / room) * (before.to - before.from), whole)
          : zoomRange(
              before,
              1.0015 ** event.deltaY,
              before.from + ((event.offsetX - label) / room) * (before.to - before.from),
              whole,
            ),
      );
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [room, whole, label]);

  const drag = useRef<{ readonly x: number; readonly range: TimeRange; moved: boolean } | null>(null);
  const onPointerMove = (event: PointerEvent): void => {
    const { offsetX, offsetY } = event.nativeEvent;
    if (drag.current !== null) {
      const by = offsetX - drag.current.x;
      if (Math.abs(by) > 3) drag.current.moved = true;
      if (drag.current.moved)
        setRange(panRange(drag.current.range, (-by / room) * (drag.current.range.to - drag.current.range.from), whole));
      return;
    }
    const lane = laneAt(offsetY);
    setHover(
      lane < 0
        ? describeStep(profile, stepAt(profile, timeAt(offsetX)))
        : describeSlice(profile, sliceAt(profile, lane, timeAt(offsetX), (2 / room) * (range.to - range.from))),
    );
  };
  const onPointerUp = (event: PointerEvent): void => {
    const wasDrag = drag.current?.moved === true;
    drag.current = null;
    if (wasDrag) return;
    const { offsetX, offsetY } = event.nativeEvent;
    const lane = laneAt(offsetY);
    const found = lane < 0 ? -1 : sliceAt(profile, lane, timeAt(offsetX), (2 / room) * (range.to - range.from));
    if (found >= 0) chooseSlice(found);
    else chooseStep(stepAt(profile, timeAt(offsetX)));
  };
  /** By key, a step that is not on the screen is brought there. */
  const walkTo = (next: number): void => {
    const start = profile.steps.start[next] ?? 0;
    if (start < range.from || start + (profile.steps.seconds[next] ?? 0) > range.to)
      setRange(rangeAround(profile, next, whole));
    chooseStep(next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const middle = (range.from + range.to) / 2;
    const span = range.to - range.from;
    const steps = profile.steps.start.length;
    const moves: { readonly [key: string]: () => void } = {
      w: () => setRange(zoomRange(range, 0.7, middle, whole)),
      s: () => setRange(zoomRange(range, 1 / 0.7, middle, whole)),
      a: () => setRange(panRange(range, -span * 0.2, whole)),
      d: () => setRange(panRange(range, span * 0.2, whole)),
      ArrowLeft: () => walkTo(Math.max(0, step - 1)),
      ArrowRight: () => walkTo(Math.min(steps - 1, step + 1)),
      f: () => setRange(whole),
      Enter: () => setRange(rangeAround(profile, step, whole)),
    };
    const move = moves[event.key];
    if (move === undefined || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    move();
  };
  return (
    <div className={styles["timeline"]}>
      <div
        ref={host}
        className={styles["lanes"]}
        tabIndex={0}
        role="application"
        aria-label={`Timeline of ${profile.steps.start.length} steps. Arrow keys walk from step to step, W and S zoom, A and D pan. ${describeStep(profile, step)}`}
        onKeyDown={onKeyDown}
      >
        <canvas
          ref={canvas}
          width={Math.round(width * (typeof devicePixelRatio === "number" ? devicePixelRatio : 1))}
          height={Math.round(height * (typeof devicePixelRatio === "number" ? devicePixelRatio : 1))}
          style={{ width, height, display: "block" }}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            drag.current = { x: event.nativeEvent.offsetX, range, moved: false };
          }}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerCancel={() => {
            drag.current = null;
          }}
          onPointerLeave={() => setHover("")}
        />
      </div>
      <p className={styles["hover"]} style={{ paddingLeft: label }}>
        {hover === "" ? describeSlice(profile, slice) || describeStep(profile, step) : hover}
      </p>
    </div>
  );
}
