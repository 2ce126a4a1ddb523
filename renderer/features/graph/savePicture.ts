/** The graph as a PNG: the drawing of the screen on a canvas of its own. */
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import type { CanvasColors } from "../../drawing/colors.ts";
import type { GraphPicture } from "../../drawing/graphPicture.ts";
import type { Frame, Measure } from "../../drawing/svgPicture.ts";
import { CAPTION, captionOf, drawPicture, MARGIN, pictureInput } from "../../drawing/svgPicture.ts";
import { canvasPen, createPatterns } from "../../canvas/canvasPen.ts";

/** Pixels of a side of a PNG: larger ones are refused by browsers. */
const MOST_PIXELS = 8192;

const canvasContext = (width: number, height: number): OffscreenCanvasRenderingContext2D => {
  const context = new OffscreenCanvas(width, height).getContext("2d");
  if (context === null) throw new WorkbenchError("ENV_IO", "[graph] picture: got no canvas, expected one");
  return context;
};

export function measureOnCanvas(): Measure {
  const context = canvasContext(1, 1);
  return (font, text) => {
    context.font = font;
    return context.measureText(text).width;
  };
}

export async function pngOf(shown: GraphPicture, frame: Frame, colors: CanvasColors): Promise<Blob> {
  const { viewport, size } = frame;
  // Twice the pixels, so that text can be read when the picture is made larger.
  const ratio = Math.min(2, MOST_PIXELS / Math.max(size.width, size.height + CAPTION));
  const context = canvasContext(Math.ceil(size.width * ratio), Math.ceil((size.height + CAPTION) * ratio));
  context.fillStyle = colors.canvas;
  context.fillRect(0, 0, context.canvas.width, context.canvas.height);
  context.save();
  context.setTransform(viewport.zoom * ratio, 0, 0, viewport.zoom * ratio, viewport.x * ratio, viewport.y * ratio);
  drawPicture(
    canvasPen(context),
    pictureInput(shown, frame, { colors, patterns: createPatterns(colors) }, measureOnCanvas()),
  );
  context.restore();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colors.canvas;
  context.fillRect(0, size.height, size.width, CAPTION);
  context.fillStyle = colors.ink2;
  context.font = `11px ${colors.font}`;
  context.fillText(captionOf(shown), MARGIN, size.height + 18);
  return context.canvas.convertToBlob({ type: "image/png" });
}

export const PNG_SIDE = MOST_PIXELS;
