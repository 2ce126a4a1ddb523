/** A canvas as a pen of the graph's drawing: signs from paths, and the patterns of the devices. */
import type { CanvasColors } from "../drawing/colors.ts";
import type { DrawContext, Patterns } from "../drawing/drawInput.ts";

type Canvas = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

const paths = new Map<string, Path2D>();

/** The same canvas, which can draw signs now. */
export function canvasPen<C extends Canvas>(canvas: C): C & Pick<DrawContext, "glyph"> {
  if (isPen(canvas)) return canvas;
  const glyph: DrawContext["glyph"] = (path, x, y, size) => {
    let made = paths.get(path);
    if (made === undefined) paths.set(path, (made = new Path2D(path)));
    const scale = size / 10;
    canvas.translate(x, y);
    canvas.scale(scale, scale);
    canvas.fill(made, "evenodd");
    canvas.scale(1 / scale, 1 / scale);
    canvas.translate(-x, -y);
  };
  return Object.assign(canvas, { glyph });
}

const isPen = <C extends Canvas>(canvas: C): canvas is C & Pick<DrawContext, "glyph"> => "glyph" in canvas;

export function createPatterns(colors: CanvasColors): Patterns {
  const tile = (
    draw: (context: OffscreenCanvasRenderingContext2D) => void,
    fallback: string,
  ): CanvasPattern | string => {
    const canvas = new OffscreenCanvas(8, 8);
    const context = canvas.getContext("2d");
    if (context === null) return fallback;
    draw(context);
    return context.createPattern(canvas, "repeat") ?? fallback;
  };
  const gpu = tile((context) => {
    context.fillStyle = colors.device.gpu;
    context.fillRect(0, 0, 8, 8);
    context.strokeStyle = "#0005";
    context.lineWidth = 2;
    context.beginPath();
    for (const shift of [-8, 0, 8]) {
      context.moveTo(shift, 8);
      context.lineTo(shift + 8, 0);
    }
    context.stroke();
  }, colors.device.gpu);
  const cpu = tile((context) => {
    context.fillStyle = colors.device.cpu;
    context.fillRect(0, 0, 8, 8);
    context.fillStyle = colors.canvas;
    context.globalAlpha = 0.6;
    for (const [x, y] of [
      [2, 2],
      [6, 6],
    ] as const) {
      context.beginPath();
      context.arc(x, y, 1, 0, 7);
      context.fill();
    }
  }, colors.device.cpu);
  return { gpu, cpu };
}
