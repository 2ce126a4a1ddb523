/** The timeline on its canvas: the ruler, a row of steps, a row per lane, the chosen step framed. */
import type { Device } from "../../../main/contract/views/common.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { deviceLook } from "../../ui/devices.ts";
import { seconds } from "../../ui/format.ts";
import type { TimeRange } from "./timeline.ts";
import { rulerStep, visibleSlices } from "./timeline.ts";
import { stepTitle } from "./timelineText.ts";

const LANE = 24;
const GAP = 5;
const RULER = 18;

/** Room for the lanes' names, by the longest of them. */
export const labelRoom = (lanes: ProfileView["lanes"]): number =>
  Math.min(190, Math.max(56, 22 + 6.2 * Math.max(...lanes.map(({ title }) => title.length))));
export const timelineHeight = (lanes: number): number => RULER + (lanes + 1) * (LANE + GAP) + 4;
/** -1: the row of steps. */
export const laneAt = (y: number): number => Math.floor((y - RULER) / (LANE + GAP)) - 1;

interface TimelineDrawing {
  readonly profile: ProfileView;
  readonly range: TimeRange;
  readonly width: number;
  readonly height: number;
  readonly room: number;
  readonly step: number;
  readonly slice: number;
}

export function drawTimeline(
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
