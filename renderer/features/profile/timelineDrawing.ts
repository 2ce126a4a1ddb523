/** The timeline on its canvas: the ruler and a row per track, the chosen step framed, the selected area marked. */
import type { Device } from "../../../main/contract/views/common.ts";
import { slicePiece, hostPieces, stepTitle } from "../../../main/contract/recordings/pieces.ts";
import type { Selection } from "../../../main/contract/recordings/tracks.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { deviceLook } from "../../ui/devices.ts";
import { bytes, seconds } from "../../ui/format.ts";
import type { TimeRange } from "./timeline.ts";
import { columnsOf, rulerStep, visibleSlices } from "./timeline.ts";
import type { Row, TimelineLayout } from "./timelineLayout.ts";
import { RULER } from "./timelineLayout.ts";

export interface TimelineDrawing {
  readonly profile: ProfileView;
  readonly layout: TimelineLayout;
  /** In the times of this recording. */
  readonly range: TimeRange;
  /** What is added to the marks of the ruler. */
  readonly offset: number;
  readonly width: number;
  readonly room: number;
  readonly step: number;
  readonly slice: number;
  /** Slices that computed the selected op of the graph. */
  readonly marked: ReadonlySet<number>;
  readonly selection: Selection | null;
}

interface Pen extends TimelineDrawing {
  readonly context: CanvasRenderingContext2D;
  readonly color: (name: string) => string;
  readonly toX: (time: number) => number;
  readonly scale: number;
}

export function drawTimeline(context: CanvasRenderingContext2D, drawing: TimelineDrawing): void {
  const { layout, range, width, room } = drawing;
  const style = getComputedStyle(document.documentElement);
  const scale = room / (range.to - range.from);
  const pen: Pen = {
    ...drawing,
    ...{ context, scale },
    color: (name) => style.getPropertyValue(name).trim(),
    toX: (time) => layout.label + (time - range.from) * scale,
  };
  context.clearRect(0, 0, width, layout.height);
  context.font = `11px ${pen.color("--font")}`;
  context.textBaseline = "middle";
  drawRuler(pen);
  context.save();
  for (const row of layout.rows) drawBed(pen, row);
  context.beginPath();
  context.rect(layout.label, 0, room, layout.height);
  context.clip();
  for (const row of layout.rows) {
    if (row.track.kind === "tokens") drawSteps(pen, row);
    else if (row.track.kind === "memory") drawMemory(pen, row);
    else drawPieces(pen, row);
  }
  drawFrames(pen);
  context.restore();
}

function drawRuler({ context, color, range, offset, room, width, toX }: Pen): void {
  context.fillStyle = color("--ink-2");
  const mark = rulerStep(range.to - range.from, room / 110);
  const [from, to] = [range.from + offset, range.to + offset];
  for (let time = Math.ceil(from / mark) * mark; time <= to; time += mark) {
    const x = toX(time - offset);
    context.fillRect(x, RULER - 5, 1, 4);
    const text = seconds(time);
    if (x + 3 + context.measureText(text).width < width) context.fillText(text, x + 3, 7);
  }
}

function drawBed({ context, color, layout, room }: Pen, { track, top, height }: Row): void {
  context.fillStyle = color("--ink-2");
  context.fillText(track.title, 10, top + height / 2, layout.label - 14);
  context.fillStyle = color("--sunken");
  context.beginPath();
  context.roundRect(layout.label, top, room, height, 3);
  context.fill();
}

function drawSteps({ context, color, profile, layout, room, scale, toX }: Pen, { top, height }: Row): void {
  const { steps } = profile;
  for (let i = 0; i < steps.start.length; i++) {
    const x = toX(steps.start[i] ?? 0);
    const w = (steps.seconds[i] ?? 0) * scale;
    if (x + w < layout.label || x > layout.label + room) continue;
    context.beginPath();
    context.roundRect(x + 0.5, top + 2.5, Math.max(1, w - 1), height - 5, 2);
    context.fillStyle = color("--raised");
    context.fill();
    context.strokeStyle = color("--line-strong");
    context.lineWidth = 1;
    context.stroke();
    if (w < 30) continue;
    const text = stepTitle(profile, i);
    if (w > context.measureText(text).width + 16) {
      context.fillStyle = color("--ink");
      context.fillText(text, Math.max(x, layout.label) + 8, top + height / 2 + 0.5);
    }
  }
}

function drawPieces(pen: Pen, { track, top, height }: Row): void {
  const { context, color, profile, layout, range, room, slice, marked } = pen;
  const { kind, index, device } = track;
  const look = color(deviceLook(device).color);
  const inset = kind === "thread" ? 1 : 2;
  const [y, h] = [top + inset, height - 2 * inset];
  const host = kind === "host" ? hostPieces(profile) : [];
  for (const drawn of visibleSlices(columnsOf(profile, track), kind === "lane" ? index : 0, range, room)) {
    const x = layout.label + drawn.x;
    const w = Math.max(0.7, drawn.width - (drawn.width > 4 ? 0.8 : 0));
    const quiet = kind === "host" ? host[drawn.slice]?.kind === "edges" : track.truth === "attributed";
    const isOther = slice >= 0 && kind !== "host" && drawn.slice !== slice;
    context.globalAlpha = (isOther ? 0.55 : 0.9) * (quiet ? 0.45 : 1);
    context.fillStyle = look;
    context.fillRect(x, y, w, h);
    context.globalAlpha = 1;
    drawPattern(context, device, { x, y, w, h }, color("--canvas"));
    // What was shared out is hollow: where it begins and ends was not clocked.
    if (quiet && w > 3) {
      context.strokeStyle = look;
      context.lineWidth = 1;
      context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    }
    if (kind !== "host" && marked.has(drawn.slice)) {
      context.fillStyle = color("--select");
      context.fillRect(x, y + h - 2.5, Math.max(2, w), 2.5);
    }
    if (kind !== "thread" && drawn.count === 1 && w > 26) {
      const text = kind === "host" ? (host[drawn.slice]?.op ?? "") : slicePiece(profile, drawn.slice).op;
      if (w > context.measureText(text).width + 14) drawLabel(pen, text, x + 5, y + h / 2);
    }
  }
}

/** Both lines from zero: how much it is, not how much it changes. */
function drawMemory({ context, color, profile, layout, room, toX }: Pen, { top, height }: Row): void {
  const { time, resident, states } = profile.memory;
  const most = Math.max(1, ...resident) * 1.15;
  const line = (column: Float64Array, fill: string): void => {
    context.beginPath();
    context.moveTo(toX(time[0] ?? 0), top + height);
    for (let i = 0; i < time.length; i++) {
      const y = top + height - ((column[i] ?? 0) / most) * height;
      context.lineTo(toX(time[i] ?? 0), y);
      context.lineTo(i + 1 < time.length ? toX(time[i + 1] ?? 0) : layout.label + room, y);
    }
    context.lineTo(layout.label + room, top + height);
    context.fillStyle = fill;
    context.fill();
  };
  context.globalAlpha = 0.55;
  line(resident, color("--bar"));
  context.globalAlpha = 1;
  line(states, color("--ink-2"));
  context.fillStyle = color("--ink");
  context.fillText(`${bytes(Math.max(0, ...resident))} at most`, layout.label + 8, top + height / 2);
}

function drawFrames({ context, color, profile, layout, room, step, selection, scale, toX }: Pen): void {
  const last = layout.rows.at(-1);
  const bottom = last === undefined ? RULER : last.top + last.height;
  if (step >= 0) {
    context.strokeStyle = color("--select");
    context.lineWidth = 1.6;
    context.beginPath();
    const width = Math.max(2, (profile.steps.seconds[step] ?? 0) * scale);
    context.roundRect(toX(profile.steps.start[step] ?? 0), RULER - 3, width, bottom - RULER + 6, 4);
    context.stroke();
  }
  if (selection === null) return;
  const [first, end] = [layout.rows[selection.first], layout.rows[selection.last]];
  if (first === undefined || end === undefined) return;
  const [from, to] = [toX(selection.from), toX(selection.to)];
  context.fillStyle = color("--select-bg");
  context.strokeStyle = color("--select");
  context.lineWidth = 1.2;
  const x = Math.max(layout.label - 2, from);
  const width = Math.min(layout.label + room + 2, to) - x;
  context.fillRect(x, first.top - 2, width, end.top + end.height - first.top + 4);
  context.strokeRect(x, first.top - 2, width, end.top + end.height - first.top + 4);
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** The device's pattern, where there is room to see it. */
function drawPattern(context: CanvasRenderingContext2D, device: Device, { x, y, w, h }: Box, canvas: string): void {
  const { pattern } = deviceLook(device);
  if (w < 5 || (pattern !== "dots" && pattern !== "hatch")) return;
  context.save();
  context.beginPath();
  context.rect(x, y, w, h);
  context.clip();
  const [from, end] = [Math.max(x, -10), Math.min(x + w, 10_000)];
  if (pattern === "dots") {
    context.fillStyle = canvas;
    context.globalAlpha = 0.45;
    for (let dx = from + 2.5; dx < end; dx += 5)
      for (let dy = y + 2.5; dy < y + h; dy += 5) context.fillRect(dx - 0.8, dy - 0.8, 1.6, 1.6);
  } else {
    context.strokeStyle = "#0006";
    context.lineWidth = 1.6;
    context.beginPath();
    for (let dx = from - h; dx < end; dx += 6) {
      context.moveTo(dx, y + h);
      context.lineTo(dx + h, y);
    }
    context.stroke();
  }
  context.restore();
}

/** On a patch of its own: text is never set on a device's colour. */
function drawLabel({ context, color }: Pen, text: string, x: number, middle: number): void {
  const w = context.measureText(text).width + 8;
  context.fillStyle = color("--raised");
  context.beginPath();
  context.roundRect(x - 1, middle - 7, w, 14, 3);
  context.fill();
  context.fillStyle = color("--ink");
  context.fillText(text, x + 3, middle + 0.5);
}
