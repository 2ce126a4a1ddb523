/** The inputs of the underlay's drawing, and the patterns of the devices. */
import type { Rect } from "../graph/gridIndex.ts";
import type { CardContext } from "./cardContext.ts";
import type { Chip } from "./chips.ts";
import type { CanvasColors } from "./colors.ts";
import type { Dimmed } from "./dim.ts";
import type { HopMark } from "./hops.ts";
import type { Detail, Viewport } from "./lod.ts";
import type { Paint } from "./paint.ts";
import type { ChangeKind } from "./changes.ts";
import type { Picture } from "./graphModes.ts";
import type { SegmentFrame } from "./segmentFrames.ts";

/** What the drawing uses of a canvas (`canvasPen`): the screen, a picture that is shown on it later, or a file of SVG. */
export interface DrawContext {
  fillStyle: string | object;
  strokeStyle: string | object;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: "start" | "end" | "left" | "right" | "center";
  textBaseline: "top" | "hanging" | "middle" | "alphabetic" | "ideographic" | "bottom";
  lineCap: "butt" | "round" | "square";
  beginPath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void;
  arcTo(cornerX: number, cornerY: number, x: number, y: number, radius: number): void;
  rect(x: number, y: number, w: number, h: number): void;
  roundRect(x: number, y: number, w: number, h: number, radii?: number | number[]): void;
  fill(): void;
  stroke(): void;
  fillRect(x: number, y: number, w: number, h: number): void;
  strokeRect(x: number, y: number, w: number, h: number): void;
  setLineDash(segments: number[]): void;
  measureText(text: string): { readonly width: number };
  fillText(text: string, x: number, y: number, maxWidth?: number): void;
  /** A path of a 10 × 10 box in the current fill, at a place and size. */
  glyph(path: string, x: number, y: number, size: number): void;
}

export interface DrawInput {
  readonly picture: Picture;
  readonly paint: Paint;
  readonly colors: CanvasColors;
  readonly patterns: Patterns;
  readonly viewport: Viewport;
  readonly detail: Detail;
  readonly view: Rect;
  /** Boxes and edges in view. */
  readonly boxes: readonly number[];
  readonly edges: readonly number[];
  /** Boxes that stand as elements above: not drawn here. */
  readonly mounted: ReadonlySet<number>;
  readonly hops: ReadonlyMap<number, HopMark>;
  readonly chips: readonly Chip[];
  readonly selectedBox: number;
  /** Index of the selected hop, or -1. */
  readonly selectedHop: number;
  readonly hitBoxes: ReadonlySet<number>;
  /** Boxes that the chosen pass made, took away or changed. */
  readonly changed: ReadonlyMap<number, ChangeKind>;
  readonly dimmed: Dimmed;
  /** The words of cards that are drawn here instead of standing as elements. */
  readonly words: DrawWords;
  /** Frames around what one segment computes; empty in other modes. */
  readonly segments: readonly SegmentFrame[];
}

export type DrawWords = Pick<CardContext, "quantity" | "note" | "warning">;

export interface Patterns {
  readonly gpu: object | string;
  readonly cpu: object | string;
}
