/**
 * The graph as a picture in a file: what is shown, or the whole graph, as PNG or SVG. Both come from the drawing of the screen;
 * cards, which are elements there, are drawn. Colours are those of the theme that is shown.
 */
import { WorkbenchError } from "../../../main/diagnostics/errors.ts";
import type { Rect } from "../../graph/gridIndex.ts";
import { createGridIndex } from "../../graph/gridIndex.ts";
import { placeChips } from "./chips.ts";
import type { CanvasColors } from "./colors.ts";
import { drawUnderlay } from "./draw.ts";
import { chipFont } from "./drawEdges.ts";
import type { DrawContext, DrawInput, Patterns } from "./drawInput.ts";
import { createPatterns } from "./drawInput.ts";
import { drawMap } from "./drawMap.ts";
import type { GraphPicture } from "./graphPicture.ts";
import type { Viewport } from "./lod.ts";
import { detailAt, worldRect } from "./lod.ts";
import { labelRects } from "./segmentFrames.ts";
import { createSvgPen, escapeXml } from "./svgPen.ts";
import { createEdgeIndex } from "./edgeIndex.ts";
import type { Size } from "./view.ts";
import { boundsOf } from "./view.ts";

export interface Frame {
  readonly viewport: Viewport;
  readonly size: Size;
}

const MARGIN = 24;
const CAPTION = 28;
/** Pixels of a side of a PNG: larger ones are refused by browsers. */
const MOST_PIXELS = 8192;

/** The whole graph in its full size, or as large as a picture may be. */
export function wholeFrame({ picture: { scene } }: GraphPicture, most: number): Frame {
  const { x, y, w, h } = boundsOf(scene);
  const zoom = Math.min(1, (most - 2 * MARGIN) / Math.max(1, w), (most - 2 * MARGIN) / Math.max(1, h));
  return {
    viewport: { zoom, x: MARGIN - x * zoom, y: MARGIN - y * zoom },
    size: { width: Math.ceil(w * zoom + 2 * MARGIN), height: Math.ceil(h * zoom + 2 * MARGIN) },
  };
}

interface Look {
  readonly colors: CanvasColors;
  readonly patterns: Patterns;
}

type Measure = (font: string, text: string) => number;

function drawInput(shown: GraphPicture, { viewport, size }: Frame, look: Look, measure: Measure): DrawInput {
  const { picture, paint, hops, selectedHop, segments, cards } = shown;
  const view: Rect = worldRect(viewport, size.width, size.height);
  const boxes = createGridIndex(picture.scene);
  return {
    ...{ picture, paint, hops, selectedHop, segments, viewport, view, ...look },
    detail: detailAt(viewport.zoom),
    boxes: boxes.query(view),
    edges: createEdgeIndex(picture.scene).query(view),
    mounted: new Set<number>(),
    chips: placeChips(picture.scene, hops, {
      widthOf: (text) => measure(chipFont(look.colors.font), text),
      boxes,
      taken: labelRects(segments),
    }),
    selectedBox: cards.selectedBox,
    hitBoxes: cards.hits,
    changed: cards.changed,
    dimmed: cards.dimmed,
    words: cards,
  };
}

function draw(context: DrawContext, input: DrawInput): void {
  if (input.detail === "tiles") drawMap(context, input);
  else drawUnderlay(context, input);
}

/** What the picture is of. */
function captionOf({ picture: { model }, route, paint }: GraphPicture): string {
  const modes: { readonly [mode: string]: string } = { type: "weights", mapped: "MLX support", data: "node data" };
  return [model.view.title, route?.targetTitle ?? "", `by ${modes[paint.mode] ?? paint.mode}`]
    .filter((part) => part !== "")
    .join(" · ");
}

const GPU = '<path d="M-8 8 0 0M0 8 8 0M8 8l8-8" stroke="#000" stroke-opacity=".33" stroke-width="2"/>';

function patternsOf({ device, canvas }: CanvasColors): string {
  const dots = `<circle cx="2" cy="2" r="1" fill="${canvas}"/><circle cx="6" cy="6" r="1" fill="${canvas}"/>`;
  const tile = (id: string, color: string, inside: string): string =>
    `<pattern id="${id}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" fill="${color}"/>${inside}</pattern>`;
  return `<defs>${tile("gpu", device.gpu, GPU)}${tile("cpu", device.cpu, `<g opacity=".6">${dots}</g>`)}</defs>`;
}

export function svgOf(shown: GraphPicture, frame: Frame, colors: CanvasColors, measure: Measure): string {
  const { viewport, size } = frame;
  const look = { colors, patterns: { gpu: "url(#gpu)", cpu: "url(#cpu)" } };
  const pen = createSvgPen(measure);
  draw(pen, drawInput(shown, frame, look, measure));
  const { width, height } = { width: Math.ceil(size.width), height: Math.ceil(size.height) };
  const caption = escapeXml(captionOf(shown));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + CAPTION}" viewBox="0 0 ${width} ${height + CAPTION}">`,
    `<title>${caption}</title>`,
    patternsOf(colors),
    `<rect width="100%" height="100%" fill="${colors.canvas}"/>`,
    `<svg width="${width}" height="${height}"><g transform="translate(${viewport.x} ${viewport.y}) scale(${viewport.zoom})">`,
    pen.elements(),
    "</g></svg>",
    `<text x="${MARGIN}" y="${height + 18}" fill="${colors.ink2}" style="font:11px ${escapeXml(colors.font)}">${caption}</text>`,
    "</svg>\n",
  ].join("\n");
}

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
  draw(context, drawInput(shown, frame, { colors, patterns: createPatterns(colors) }, measureOnCanvas()));
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
