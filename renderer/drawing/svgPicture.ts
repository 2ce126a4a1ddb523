/**
 * The graph as a picture in a file: what is shown, or the whole graph. It comes from the drawing of the screen; cards, which are
 * elements there, are drawn. The SVG is made here, without a browser; the PNG needs a canvas.
 */
import type { Rect } from "../graph/gridIndex.ts";
import { createGridIndex } from "../graph/gridIndex.ts";
import { placeChips } from "./chips.ts";
import type { CanvasColors } from "./colors.ts";
import { drawUnderlay } from "./draw.ts";
import { chipFont } from "./drawEdges.ts";
import type { DrawContext, DrawInput, Patterns } from "./drawInput.ts";
import { drawMap } from "./drawMap.ts";
import type { GraphPicture } from "./graphPicture.ts";
import type { Viewport } from "./lod.ts";
import { detailAt, worldRect } from "./lod.ts";
import { boundsWithFrames, labelRects } from "./segmentFrames.ts";
import { createSvgPen, escapeXml } from "./svgPen.ts";
import { createEdgeIndex } from "./edgeIndex.ts";
import type { Size } from "./lod.ts";

export interface Frame {
  readonly viewport: Viewport;
  readonly size: Size;
}

export const MARGIN = 24;
export const CAPTION = 28;

/** The whole graph in its full size, or as large as a picture may be. */
export function wholeFrame({ picture: { scene }, segments }: GraphPicture, most: number): Frame {
  const { x, y, w, h } = boundsWithFrames(scene, segments);
  const zoom = Math.min(1, (most - 2 * MARGIN) / Math.max(1, w), (most - 2 * MARGIN) / Math.max(1, h));
  return {
    viewport: { zoom, x: MARGIN - x * zoom, y: MARGIN - y * zoom },
    size: { width: Math.ceil(w * zoom + 2 * MARGIN), height: Math.ceil(h * zoom + 2 * MARGIN) },
  };
}

export interface Look {
  readonly colors: CanvasColors;
  readonly patterns: Patterns;
}

export type Measure = (font: string, text: string) => number;

export function pictureInput(shown: GraphPicture, { viewport, size }: Frame, look: Look, measure: Measure): DrawInput {
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

export function drawPicture(context: DrawContext, input: DrawInput): void {
  if (input.detail === "tiles") drawMap(context, input);
  else drawUnderlay(context, input);
}

/** What the picture is of. */
export function captionOf({ picture: { model }, route, paint }: GraphPicture): string {
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
  drawPicture(pen, pictureInput(shown, frame, look, measure));
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
