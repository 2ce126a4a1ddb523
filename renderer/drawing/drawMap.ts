/**
 * The view from afar: boxes in the colours of what runs in them, no edges, blocks by number. Ten thousand boxes take tens of
 * milliseconds, so this is drawn into tiles that are kept; what is marked lies in tiles of its own above, because it changes with every
 * letter of a search.
 */
import { BOX_KINDS } from "../graph/lift.ts";
import { titleOf } from "./boxWords.ts";
import { drawChange, drawFrame, drawRing } from "./draw.ts";
import { drawBoxes } from "./drawBoxes.ts";
import { drawEdges, isChosenEdge } from "./drawEdges.ts";
import type { DrawContext, DrawInput } from "./drawInput.ts";
import { px } from "./drawText.ts";

export function drawMap(context: DrawContext, input: DrawInput): void {
  const { scene } = input.picture;
  for (const box of input.boxes) if (scene.kind[box] === BOX_KINDS.frame) drawFrame(context, input, box);
  drawBoxes(
    context,
    input,
    input.boxes.filter((box) => scene.kind[box] !== BOX_KINDS.frame),
  );
  drawMapLabels(context, input);
}

/** What `drawMarks` draws, of all boxes. */
export const hasMarks = ({
  selectedBox,
  selectedHop,
  hitBoxes,
  changed,
}: Pick<DrawInput, "selectedBox" | "selectedHop" | "hitBoxes" | "changed">): boolean =>
  selectedBox >= 0 || selectedHop >= 0 || hitBoxes.size > 0 || changed.size > 0;

/** The same, of the boxes and edges in view. */
export const hasMarksIn = (input: DrawInput): boolean =>
  input.edges.some((edge) => isChosenEdge(input, edge)) ||
  input.boxes.some((box) => box === input.selectedBox || input.hitBoxes.has(box) || input.changed.has(box));

/** Hits, the selection with its edges, and changes. The numbers of blocks lie above these. */
export function drawMarks(context: DrawContext, input: DrawInput): void {
  drawEdges(context, input);
  for (const box of input.boxes) {
    if (box === input.selectedBox) drawRing(context, input, box);
    else if (input.hitBoxes.has(box)) drawHit(context, input, box);
    else if (input.changed.has(box)) drawChange(context, input, box);
  }
  drawMapLabels(context, input);
}

/** A ring would be thinner than a pixel: the box itself takes the colour. */
function drawHit(context: DrawContext, input: DrawInput, box: number): void {
  const { scene } = input.picture;
  const grow = px(input, 0.75);
  context.fillStyle = input.colors.select;
  context.fillRect(
    (scene.x[box] ?? 0) - grow,
    (scene.y[box] ?? 0) - grow,
    (scene.w[box] ?? 0) + 2 * grow,
    (scene.h[box] ?? 0) + 2 * grow,
  );
}

/** Pixels of a block's number on a map: as large as the block allows, not at all when it could not be read. */
const MAP_LABEL = { least: 7, most: 10 } as const;

/** Widths of numbers, as parts of their height. */
const widths = new Map<string, number>();

function widthOf(context: DrawContext, text: string, font: string): number {
  const key = `${font} ${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  context.font = `600 100px ${font}`;
  const width = context.measureText(text).width / 100;
  widths.set(key, width);
  return width;
}

/** On a map, blocks are numbered where there is room for the number. */
function drawMapLabels(context: DrawContext, input: DrawInput): void {
  const { picture, colors } = input;
  const { scene } = picture;
  context.textBaseline = "top";
  for (const box of input.boxes) {
    if (scene.kind[box] !== BOX_KINDS.frame || scene.depth[box] !== 0) continue;
    const text = /\d+$/.exec(titleOf(picture, box))?.[0] ?? "";
    const perSize = widthOf(context, text, colors.font);
    const [width, height] = [(scene.w[box] ?? 0) * input.viewport.zoom, (scene.h[box] ?? 0) * input.viewport.zoom];
    const pixels = Math.min(MAP_LABEL.most, height * 0.55, width / (perSize + 0.3));
    if (text === "" || pixels < MAP_LABEL.least) continue;
    const size = px(input, pixels);
    context.font = `600 ${size}px ${colors.font}`;
    const w = perSize * size;
    const [x, y] = [(scene.x[box] ?? 0) + size * 0.15, (scene.y[box] ?? 0) + size * 0.1];
    context.fillStyle = colors.panel;
    context.fillRect(x - size * 0.1, y, w + size * 0.2, size * 1.1);
    context.fillStyle = colors.ink;
    context.fillText(text, x, y + size * 0.1);
  }
  context.textBaseline = "alphabetic";
}
