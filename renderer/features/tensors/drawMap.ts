/** Draws the picture of a file on a canvas: boxes, names as far as they fit, and what a search left out, faint. */
import type { Box } from "../../ui/treemap.ts";
import type { FileMap } from "./fileMap.ts";
import { inkOn, TITLE } from "./fileMap.ts";

export interface MapPaint {
  readonly colors: readonly string[];
  /** Leaves that are found by the search. */
  readonly found: (index: number) => boolean;
  readonly canvas: string;
  readonly ink: string;
  readonly font: string;
}

/** Boxes that are smaller have no name. */
const NAMED_WIDTH = 34;
const NAMED_HEIGHT = 15;
const FAINT = 0.16;

export function drawMap(
  context: CanvasRenderingContext2D,
  { groups, leaves }: FileMap,
  { width, height }: Pick<Box, "width" | "height">,
  paint: MapPaint,
): void {
  context.clearRect(0, 0, width, height);
  context.textBaseline = "middle";
  context.font = `10px ${paint.font}`;
  leaves.forEach(({ box, title }, i) => {
    const color = paint.colors[i] ?? paint.ink;
    const isFound = paint.found(i);
    context.globalAlpha = isFound ? 1 : FAINT;
    context.fillStyle = color;
    // Half a pixel of ground between boxes, as long as that leaves something of them.
    const edge = Math.min(0.5, box.width / 4, box.height / 4);
    context.fillRect(box.x + edge, box.y + edge, box.width - 2 * edge, box.height - 2 * edge);
    if (!isFound || box.width < NAMED_WIDTH || box.height < NAMED_HEIGHT) return;
    context.fillStyle = color.startsWith("rgb(") ? inkOn(color) : paint.ink;
    const text = fitting(context, title, box.width - 8);
    if (text !== "") context.fillText(text, box.x + 4, box.y + Math.min(9, box.height / 2));
  });
  context.globalAlpha = 1;
  context.fillStyle = paint.ink;
  for (const { box, title, hasTitle } of groups) {
    if (!hasTitle) continue;
    const text = fitting(context, title, box.width - 6);
    if (text !== "") context.fillText(text, box.x + 3, box.y + TITLE / 2 + 0.5);
  }
}

/** The text, or its beginning with an ellipsis; nothing where not even that is readable. */
export function fitting(context: Pick<CanvasRenderingContext2D, "measureText">, text: string, room: number): string {
  const whole = context.measureText(text).width;
  if (whole <= room) return text;
  const kept = Math.floor((text.length * (room - 8)) / whole);
  return kept < 2 ? "" : `${text.slice(0, kept)}…`;
}
