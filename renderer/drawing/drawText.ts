/** Texts and signs on the underlay: lengths of the screen, texts cut to their room. */
import type { DrawContext, DrawInput } from "./drawInput.ts";

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
