/** Edges, the chips on those that cross between devices, and stubs. */
import { nodeName } from "../graph/graphModel.ts";
import { BOX_KINDS } from "../graph/lift.ts";
import { EDGE_KINDS, STUB_HEIGHT } from "../graph/scene.ts";
import type { Scene } from "../graph/scene.ts";
import type { DrawContext, DrawInput } from "./drawInput.ts";
import { px, widthOf } from "./drawText.ts";
import { edgeMiddle } from "./chips.ts";
import { shapeText } from "./shapeText.ts";

/** Edge widths by what they carry: one pixel to four, by the logarithm of the bytes. */
export function edgeWidth(bytes: number): number {
  if (bytes <= 4096) return 1.2;
  return Math.min(4, 1.2 + (Math.log2(bytes) - 12) * 0.28);
}

/** Corners of edges that go round other boxes. */
const CORNER = 14;

export function tracePath(context: DrawContext, scene: Scene, edge: number): void {
  const { points } = scene;
  const from = (scene.edgeStart[edge] ?? 0) * 2;
  const to = (scene.edgeStart[edge + 1] ?? 0) * 2;
  let [x, y] = [points[from] ?? 0, points[from + 1] ?? 0];
  context.moveTo(x, y);
  const straight = scene.edgeKind[edge] === EDGE_KINDS.back || scene.edgeKind[edge] === EDGE_KINDS.turn;
  for (let i = from + 2; i < to; i += 2) {
    const [nextX, nextY] = [points[i] ?? 0, points[i + 1] ?? 0];
    if (straight && i + 2 < to) context.arcTo(nextX, nextY, points[i + 2] ?? 0, points[i + 3] ?? 0, CORNER);
    else if (straight || Math.abs(nextX - x) < 0.5) context.lineTo(nextX, nextY);
    else context.bezierCurveTo(x, (y + nextY) / 2, nextX, (y + nextY) / 2, nextX, nextY);
    [x, y] = [nextX, nextY];
  }
}

/** Of the chosen box, or of the chosen hop. */
export function isChosenEdge({ picture: { scene }, selectedBox, selectedHop, hops }: DrawInput, edge: number): boolean {
  if (selectedBox >= 0 && (scene.edgeFrom[edge] === selectedBox || scene.edgeTo[edge] === selectedBox)) return true;
  return selectedHop >= 0 && hops.get(edge)?.hop === selectedHop;
}

export function drawEdges(context: DrawContext, input: DrawInput): void {
  const { picture, colors, detail, hops } = input;
  const { scene } = picture;
  const floor = px(input, 0.8);
  const classes: { readonly width: number; readonly list: number[] }[] = [1.2, 2, 3, 4].map((width) => ({
    width,
    list: [],
  }));
  const state: number[] = [];
  const special: { readonly edge: number; readonly color: string }[] = [];
  for (const edge of input.edges) {
    if (isChosenEdge(input, edge)) special.push({ edge, color: colors.select });
    else if (detail === "tiles") continue;
    else if (hops.has(edge)) special.push({ edge, color: colors.ink });
    else if (scene.edgeKind[edge] === EDGE_KINDS.state) state.push(edge);
    else {
      const width = edgeWidth(scene.edgeBytes[edge] ?? 0);
      (classes.find((entry) => width <= entry.width) ?? classes[3])?.list.push(edge);
    }
  }
  context.lineCap = "round";
  context.strokeStyle = colors.edge;
  const stroke = (list: readonly number[], width: number): void => {
    if (list.length === 0) return;
    context.lineWidth = Math.max(floor, width);
    context.beginPath();
    for (const edge of list) tracePath(context, scene, edge);
    context.stroke();
  };
  for (const { width, list } of classes) stroke(list, width);
  context.setLineDash([7, 3, 1.5, 3]);
  stroke(state, 1.4);
  context.setLineDash([]);
  for (const { edge, color } of special) {
    context.strokeStyle = color;
    context.lineWidth = Math.max(px(input, 1.4), 2);
    context.beginPath();
    tracePath(context, scene, edge);
    context.stroke();
  }
}

export function drawStubs(context: DrawContext, input: DrawInput): void {
  const { picture, colors, detail, selectedBox } = input;
  const { scene, model } = picture;
  const inView = new Set(input.boxes);
  context.font = `11px ${colors.font}`;
  context.textBaseline = "middle";
  const selectedNode = selectedBox >= 0 && scene.kind[selectedBox] === BOX_KINDS.op ? scene.ref[selectedBox] : -1;
  for (let stub = 0; stub < scene.stubCount; stub++) {
    const box = scene.stubBox[stub] ?? 0;
    if (!inView.has(box)) continue;
    const [x, y, w] = [scene.stubX[stub] ?? 0, scene.stubY[stub] ?? 0, scene.stubW[stub] ?? 0];
    const node = scene.stubNode[stub] ?? 0;
    // All stubs of a value light up with it.
    const highlight = node === selectedNode || box === selectedBox;
    context.strokeStyle = highlight ? colors.select : colors.edge;
    context.lineWidth = Math.max(1, px(input, 0.8));
    context.beginPath();
    context.moveTo((scene.x[box] ?? 0) + (scene.w[box] ?? 0), y + STUB_HEIGHT / 2);
    context.lineTo(x, y + STUB_HEIGHT / 2);
    context.roundRect(x, y, w, STUB_HEIGHT, STUB_HEIGHT / 2);
    context.stroke();
    if (detail === "boxes") continue;
    const more = scene.stubMore[stub] ?? 0;
    context.fillStyle = highlight ? colors.ink : colors.ink2;
    context.fillText(
      nodeName(model.view, node) + (more > 0 ? ` +${more}` : ""),
      x + 9,
      y + STUB_HEIGHT / 2 + 0.5,
      w - 16,
    );
  }
  context.textBaseline = "alphabetic";
}

export const chipFont = (font: string): string => `11px ${font}`;

export function drawChips(context: DrawContext, input: DrawInput): void {
  const { colors } = input;
  context.font = chipFont(colors.font);
  context.textAlign = "center";
  context.textBaseline = "middle";
  const { view } = input;
  for (const { hop, text, rect } of input.chips) {
    if (rect.x > view.x + view.w || rect.x + rect.w < view.x || rect.y > view.y + view.h || rect.y + rect.h < view.y)
      continue;
    context.beginPath();
    context.roundRect(rect.x, rect.y, rect.w, rect.h, rect.h / 2);
    context.fillStyle = colors.canvas;
    context.fill();
    context.strokeStyle = hop === input.selectedHop ? colors.select : colors.ink2;
    context.lineWidth = hop === input.selectedHop ? 2 : 1;
    context.stroke();
    context.fillStyle = colors.ink;
    context.fillText(text, rect.x + rect.w / 2, rect.y + rect.h / 2 + 0.5);
  }
  context.textAlign = "start";
  context.textBaseline = "alphabetic";
}

/** Above this zoom edges say what they carry. */
export const SHAPES_FROM = 0.9;

/** The shape of what an edge carries, beside its middle; a hop has its chip there. */
export function drawShapes(context: DrawContext, input: DrawInput): void {
  const { picture, colors } = input;
  const { scene, model } = picture;
  context.font = `9px ${colors.mono}`;
  context.textBaseline = "middle";
  for (const edge of input.edges) {
    if (scene.edgeInner[edge] === 1 || input.hops.has(edge)) continue;
    const text = shapeText(model, scene, edge);
    if (text === "") continue;
    const { x, y } = edgeMiddle(scene, edge);
    const width = widthOf(context, text);
    context.fillStyle = colors.canvas;
    context.globalAlpha = 0.7;
    context.fillRect(x + 5, y - 6, width + 4, 12);
    context.globalAlpha = 1;
    context.fillStyle = isChosenEdge(input, edge) ? colors.ink : colors.ink2;
    context.fillText(text, x + 7, y);
  }
  context.textBaseline = "alphabetic";
}
