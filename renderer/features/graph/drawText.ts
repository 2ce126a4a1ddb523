/** Texts and signs on the underlay: lengths of the screen, texts cut to their room, signs from paths. */
import type { DrawContext, DrawInput } from "./drawInput.ts";
import type { SvgPen } from "./svgPen.ts";

/** A length on the screen, in the picture's own units. */
export const px = (input: Pick<DrawInput, "viewport">, pixels: number): number => pixels / input.viewport.zoom;

/** Widths of texts in fonts; they come back with every frame. */
const widths = new Map<string, number>();
const MOST_WIDTHS = 20_000;

export function widthOf(context: DrawContext, text: string): number {
  const key = `${context.font} ${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  if (widths.size >= MOST_WIDTHS) widths.clear();
  const { width } = context.measureText(text);
  widths.set(key, width);
  return width;
}

/** The text, or as much of its beginning as there is room for, in the context's font. */
export function fitText(context: DrawContext, text: string, room: number): string {
  const width = widthOf(context, text);
  if (width <= room) return text;
  // Letters are about equally wide: one guess, and a letter less where it was too bold.
  for (let length = Math.floor((text.length * room) / width) - 1; length > 0; length--) {
    const cut = `${text.slice(0, length)}…`;
    if (widthOf(context, cut) <= room) return cut;
  }
  return "";
}

const paths = new Map<string, Path2D>();

/** A path of a 10 × 10 box in the current fill. */
export function drawGlyph(context: DrawContext, path: string, x: number, y: number, size: number): void {
  if (isPen(context)) {
    context.glyph(path, x, y, size);
    return;
  }
  const canvas = context as CanvasRenderingContext2D;
  let made = paths.get(path);
  if (made === undefined) paths.set(path, (made = new Path2D(path)));
  const scale = size / 10;
  canvas.translate(x, y);
  canvas.scale(scale, scale);
  canvas.fill(made, "evenodd");
  canvas.scale(1 / scale, 1 / scale);
  canvas.translate(-x, -y);
}

const isPen = (context: DrawContext): context is SvgPen => "glyph" in context;
