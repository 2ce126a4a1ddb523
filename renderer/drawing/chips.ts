/** Where the chips of hops stand: between the ranks that their edges pass, beside each other, never on a box. */
import type { GridIndex, Rect } from "../graph/gridIndex.ts";
import { BOX_KINDS } from "../graph/lift.ts";
import type { Scene } from "../graph/scene.ts";
import type { HopMark } from "./hops.ts";

const CHIP_HEIGHT = 20;
const APART = 4;

export interface Chip {
  readonly hop: number;
  readonly text: string;
  readonly rect: Rect;
}

export interface ChipRoom {
  readonly widthOf: (text: string) => number;
  /** The boxes by place. */
  readonly boxes: Pick<GridIndex, "query">;
  /** Places of other words. */
  readonly taken: readonly Rect[];
}

/** All chips of a picture. */
export function placeChips(
  scene: Scene,
  hops: ReadonlyMap<number, HopMark>,
  { widthOf, boxes, taken }: ChipRoom,
): readonly Chip[] {
  const placed: Chip[] = [];
  const isFree = (rect: Rect): boolean =>
    placed.every((other) => !overlap(other.rect, rect)) &&
    taken.every((other) => !overlap(other, rect)) &&
    boxes.query(rect).every((box) => scene.kind[box] === BOX_KINDS.frame);
  for (const [edge, mark] of hops) {
    if (mark.chip === "") continue;
    const w = widthOf(mark.chip) + 20;
    const places = piecesBetweenRanks(scene, edge).flatMap(({ x, y }) =>
      // On the line, or beside it.
      [0, w / 2 + APART, -(w / 2 + APART), w + APART, -(w + APART)].map((shift): Rect => ({
        x: x - w / 2 + shift,
        y: y - CHIP_HEIGHT / 2,
        w,
        h: CHIP_HEIGHT,
      })),
    );
    const rect = places.find(isFree) ?? places[0];
    if (rect !== undefined) placed.push({ hop: mark.hop, text: mark.chip, rect });
  }
  return placed;
}

const overlap = (a: Rect, b: Rect): boolean => a.x < b.x + b.w && a.x + a.w > b.x && a.y < b.y + b.h && a.y + a.h > b.y;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Middles of the pieces between two ranks, the one in the edge's middle first. Points come in pairs around the ranks that it passes. */
function piecesBetweenRanks(scene: Scene, edge: number): readonly Point[] {
  const first = scene.edgeStart[edge] ?? 0;
  const count = (scene.edgeStart[edge + 1] ?? 0) - first;
  const { points } = scene;
  const pieces: Point[] = [];
  for (let piece = 0; piece < count - 1; piece += 2) {
    const at = (first + piece) * 2;
    pieces.push({
      x: ((points[at] ?? 0) + (points[at + 2] ?? 0)) / 2,
      y: ((points[at + 1] ?? 0) + (points[at + 3] ?? 0)) / 2,
    });
  }
  const middle = (pieces.length - 1) / 2;
  return pieces
    .map((point, i) => ({ point, away: Math.abs(i - middle) }))
    .sort((a, b) => a.away - b.away)
    .map(({ point }) => point);
}

export const edgeMiddle = (scene: Scene, edge: number): Point => piecesBetweenRanks(scene, edge)[0] ?? { x: 0, y: 0 };
