/**
 * The timeline: one lane of steps (the prompt, then a tick per token) and one per unit, drawn on a canvas, hit-tested in
 * arrays. W and S zoom, A and D pan, as in other trace viewers; so do wheel and drag.
 */
import type { KeyboardEvent, PointerEvent, ReactNode } from "react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Device } from "../../../main/contract/views/common.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { sliceHook } from "../../session/context.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { bytes, seconds } from "../../ui/format.ts";
import { onThemeChange } from "../../ui/theme.ts";
import { useSize } from "../../ui/useSize.ts";
import type { ProfileSlice } from "./slice.ts";
import type { TimeRange } from "./timeline.ts";
import { panRange, rulerStep, sliceAt, totalRange, visibleSlices, zoomRange } from "./timeline.ts";
import styles from "./Profile.module.css";

const useProfile = sliceHook<ProfileSlice>();
/** Room for the lanes' names, by the longest of them. */
const labelRoom = (lanes: ProfileView["lanes"]): number =>
  Math.min(130, Math.max(56, 22 + 6.2 * Math.max(...lanes.map(({ title }) => title.length))));
const LANE = 24;
const GAP = 5;
const RULER = 18;

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
  useEffect(() => setRange(rangeAround(profile, step, totalRange(profile))), [profile]); // eslint-disable-line react-hooks/exhaustive-deps -- a new recording resets the view, a click on a step does not
  const { lanes } = profile;
  const label = labelRoom(lanes);
  const height = RULER + (lanes.length + 1) * (LANE + GAP) + 4;
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
  const laneAt = (y: number): number => Math.floor((y - RULER) / (LANE + GAP)) - 1;

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
    chooseStep(found >= 0 ? (profile.slices.step[found] ?? -1) : stepAt(profile, timeAt(offsetX)));
    if (found >= 0) chooseSlice(found);
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
      ArrowLeft: () => chooseStep(Math.max(0, step - 1)),
      ArrowRight: () => chooseStep(Math.min(steps - 1, step + 1)),
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
          onPointerLeave={() => setHover("")}
        />
      </div>
      <p className={styles["hover"]}>
        {hover === "" ? describeSlice(profile, slice) || describeStep(profile, step) : hover}
      </p>
    </div>
  );
}

/** The chosen token with two neighbours to each side, or everything. */
function rangeAround({ steps }: ProfileView, step: number, whole: TimeRange): TimeRange {
  if (step < 0) return whole;
  const first = Math.max(0, step - 2);
  const last = Math.min(steps.start.length - 1, step + 3);
  return { from: steps.start[first] ?? whole.from, to: (steps.start[last] ?? whole.to) + (steps.seconds[last] ?? 0) };
}

export function stepAt({ steps }: ProfileView, time: number): number {
  for (let i = 0; i < steps.start.length; i++) {
    const start = steps.start[i] ?? 0;
    if (time >= start && time <= start + (steps.seconds[i] ?? 0)) return i;
  }
  return -1;
}

export function stepTitle({ steps }: ProfileView, step: number): string {
  if (steps.decode[step] !== 1) return `prompt, ${steps.tokens[step] ?? 0} tokens`;
  let n = 0;
  for (let i = 0; i <= step; i++) n += steps.decode[i] === 1 ? 1 : 0;
  return `token ${n}`;
}

function describeStep(profile: ProfileView, step: number): string {
  return step < 0 || step >= profile.steps.start.length
    ? ""
    : `${stepTitle(profile, step)}: ${seconds(profile.steps.seconds[step] ?? 0)}`;
}

function describeSlice({ slices, strings }: ProfileView, slice: number): string {
  if (slice < 0 || slice >= slices.start.length) return "";
  const read = slices.bytes[slice] ?? 0;
  const length = slices.seconds[slice] ?? 0;
  const label = strings[slices.label[slice] ?? 0] ?? "";
  return [
    `${strings[slices.op[slice] ?? 0] ?? ""}${label === "" || label === strings[slices.op[slice] ?? 0] ? "" : ` ${label}`}: ${seconds(length)}`,
    read > 0 && length > 0 ? `${bytes(read)} at ${bytes(read / length)}/s` : "",
  ]
    .filter((part) => part !== "")
    .join(", ");
}

interface TimelineDrawing {
  readonly profile: ProfileView;
  readonly range: TimeRange;
  readonly width: number;
  readonly height: number;
  readonly room: number;
  readonly step: number;
  readonly slice: number;
}

function drawTimeline(
  context: CanvasRenderingContext2D,
  { profile, range, width, height, room, step, slice }: TimelineDrawing,
): void {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  const scale = room / (range.to - range.from);
  const label = labelRoom(profile.lanes);
  const toX = (time: number): number => label + (time - range.from) * scale;
  context.clearRect(0, 0, width, height);
  context.font = `11px ${of("--font")}`;
  context.textBaseline = "middle";

  context.fillStyle = of("--ink-2");
  const mark = rulerStep(range.to - range.from, room / 110);
  for (let time = Math.ceil(range.from / mark) * mark; time <= range.to; time += mark) {
    const x = toX(time);
    context.fillRect(x, RULER - 5, 1, 4);
    const text = seconds(time);
    if (x + 3 + context.measureText(text).width < width) context.fillText(text, x + 3, 7);
  }
  const rowTop = (row: number): number => RULER + row * (LANE + GAP);
  const drawRow = (text: string, row: number): void => {
    context.fillStyle = of("--ink-2");
    context.fillText(text, 10, rowTop(row) + LANE / 2);
    context.fillStyle = of("--sunken");
    context.beginPath();
    context.roundRect(label, rowTop(row), room, LANE, 3);
    context.fill();
  };

  context.save();
  drawRow("Steps", 0);
  profile.lanes.forEach((lane, i) => drawRow(lane.title, i + 1));
  context.beginPath();
  context.rect(label, 0, room, height);
  context.clip();
  for (let i = 0; i < profile.steps.start.length; i++) {
    const x = toX(profile.steps.start[i] ?? 0);
    const w = (profile.steps.seconds[i] ?? 0) * scale;
    if (x + w < label || x > width) continue;
    context.beginPath();
    context.roundRect(x + 0.5, rowTop(0) + 2.5, Math.max(1, w - 1), LANE - 5, 2);
    context.fillStyle = of("--raised");
    context.fill();
    context.strokeStyle = of("--line-strong");
    context.lineWidth = 1;
    context.stroke();
    const text = stepTitle(profile, i);
    if (w > context.measureText(text).width + 16) {
      context.fillStyle = of("--ink");
      context.fillText(text, Math.max(x, label) + 8, rowTop(0) + LANE / 2 + 0.5);
    }
  }
  for (const drawn of visibleSlices(profile, range, room)) {
    const device: Device = profile.lanes[drawn.lane]?.device ?? "none";
    const w = Math.max(0.7, drawn.width - (drawn.width > 4 ? 0.8 : 0));
    const top = rowTop(drawn.lane + 1) + 2;
    context.globalAlpha = slice >= 0 && drawn.slice !== slice ? 0.55 : 0.9;
    context.fillStyle = of(deviceLook(device).color);
    context.fillRect(label + drawn.x, top, w, LANE - 4);
    context.globalAlpha = 1;
    drawPattern(context, device, label + drawn.x, top, w, of("--canvas"));
    const text = profile.strings[profile.slices.op[drawn.slice] ?? 0] ?? "";
    if (drawn.count === 1 && w > context.measureText(text).width + 14)
      drawLabel(context, text, label + drawn.x + 5, top, of("--raised"), of("--ink"));
  }
  if (step >= 0) {
    context.strokeStyle = of("--select");
    context.lineWidth = 1.6;
    context.beginPath();
    context.roundRect(
      toX(profile.steps.start[step] ?? 0),
      RULER - 3,
      Math.max(2, (profile.steps.seconds[step] ?? 0) * scale),
      height - RULER,
      4,
    );
    context.stroke();
  }
  context.restore();
}

/** The device's pattern, where there is room to see it. */
function drawPattern(
  context: CanvasRenderingContext2D,
  device: Device,
  x: number,
  y: number,
  w: number,
  canvas: string,
): void {
  if (w < 5) return;
  const { pattern } = deviceLook(device);
  context.save();
  context.beginPath();
  context.rect(x, y, w, LANE - 4);
  context.clip();
  if (pattern === "dots") {
    context.fillStyle = canvas;
    context.globalAlpha = 0.45;
    const end = Math.min(x + w, 10_000);
    for (let dx = Math.max(x, -10) + 2.5; dx < end; dx += 5)
      for (let dy = y + 2.5; dy < y + LANE - 4; dy += 5) context.fillRect(dx - 0.8, dy - 0.8, 1.6, 1.6);
  } else if (pattern === "hatch") {
    context.strokeStyle = "#0006";
    context.lineWidth = 1.6;
    context.beginPath();
    for (let dx = x - LANE; dx < x + w; dx += 6) {
      context.moveTo(dx, y + LANE);
      context.lineTo(dx + LANE, y);
    }
    context.stroke();
  }
  context.restore();
}

/** On a patch of its own: text is never set on a device's colour. */
function drawLabel(
  context: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  back: string,
  ink: string,
): void {
  const w = context.measureText(text).width + 8;
  context.fillStyle = back;
  context.beginPath();
  context.roundRect(x - 1, y + 3, w, LANE - 10, 3);
  context.fill();
  context.fillStyle = ink;
  context.fillText(text, x + 3, y + (LANE - 4) / 2 + 0.5);
}
