/** From placed frames to the flat scene: boxes and edges in absolute coordinates, and the stubs beside their boxes. */
import type { GraphModel } from "./graphModel.ts";
import { nodeName } from "./graphModel.ts";
import type { LocalSize } from "./layers.ts";
import { IN, OUT } from "./layers.ts";
import type { Lifted, Piece } from "./lift.ts";
import { BOX_KINDS } from "./lift.ts";
import type { ColumnLayout } from "./columns.ts";
import type { Scene } from "./scene.ts";
import { EDGE_KINDS, STUB_HEIGHT } from "./scene.ts";

/** Room above a stack for its stacked edges. */
export const STACK_LIP = 9;
/** Where an edge comes in or leaves, the rank of its port is room already. */
const FRAME_HEADER = { withPort: 12, without: 44 } as const;
const FRAME_FOOTER = { withPort: 0, without: 20 } as const;
export const FRAME_SIDE = 22;
const MAX_STUBS = 2;
const STUB_GAP = 14;

export const NO_SIZE: LocalSize = { left: 0, right: 0, height: 0, extra: 0 };

export const headerOf = (local: ColumnLayout | undefined): number =>
  local?.hasIn === true ? FRAME_HEADER.withPort : FRAME_HEADER.without;
export const footerOf = (local: ColumnLayout): number => (local.hasOut ? FRAME_FOOTER.withPort : FRAME_FOOTER.without);

export interface PlacedFrame {
  readonly members: readonly number[];
  readonly pieces: readonly Piece[];
  readonly local: ColumnLayout;
}

/** About six pixels a letter at 11 px, and the rounded ends. */
const stubWidth = (text: string): number => Math.min(130, 18 + 6.2 * text.length);

/** What a card's stubs need beside it. */
export function stubRoom(model: GraphModel, sources: readonly number[]): number {
  let room = 0;
  for (const source of sources.slice(0, MAX_STUBS))
    room = Math.max(room, STUB_GAP + stubWidth(nodeName(model.view, source)));
  return room;
}

export function assemble(
  model: GraphModel,
  lifted: Lifted,
  frames: ReadonlyMap<number, PlacedFrame>,
  sizes: ReadonlyMap<number, LocalSize>,
  extraStubs: ReadonlyMap<number, readonly number[]>,
  whole: LocalSize,
): Scene {
  const boxCount = lifted.boxes.kind.length;
  const [x, y, w, h, axes] = [
    new Float32Array(boxCount),
    new Float32Array(boxCount),
    new Float32Array(boxCount),
    new Float32Array(boxCount),
    new Float32Array(boxCount),
  ];
  const edges: { piece: Piece; from: number; to: number; points: readonly number[]; kind: number }[] = [];

  const place = (frame: number, axis: number, top: number): void => {
    const placed = frames.get(frame);
    if (placed === undefined) return;
    const { members, pieces, local } = placed;
    members.forEach((box, i) => {
      const size = sizes.get(box) ?? NO_SIZE;
      const lip = lifted.boxes.kind[box] === BOX_KINDS.stack ? STACK_LIP : 0;
      const centre = axis + (local.x[i] ?? 0);
      const at = top + (local.y[i] ?? 0);
      axes[box] = centre;
      x[box] = centre - size.left;
      y[box] = at + lip;
      w[box] = size.left + size.right;
      h[box] = size.height - lip;
      if (lifted.boxes.kind[box] === BOX_KINDS.frame) place(box, centre, at + headerOf(frames.get(box)?.local));
    });
    pieces.forEach((piece, i) => {
      const route = local.routes[i] ?? new Float64Array(0);
      const points: number[] = [];
      for (let k = 0; k < route.length; k += 2) points.push(axis + (route[k] ?? 0), top + (route[k + 1] ?? 0));
      // A port lies on the frame's border, above its header or below its footer.
      if (frame >= 0 && points.length >= 4) {
        if (piece.from === IN) points[1] = y[frame] ?? 0;
        if (piece.to === OUT) points[points.length - 1] = (y[frame] ?? 0) + (h[frame] ?? 0);
      }
      if (local.back[i] === 1) points.push(...backRoute(piece, x, y, w, h));
      if (points.length < 4) return;
      const kind =
        local.back[i] === 1
          ? EDGE_KINDS.back
          : local.turns[i] === 1
            ? EDGE_KINDS.turn
            : piece.state
              ? EDGE_KINDS.state
              : EDGE_KINDS.plain;
      edges.push({
        piece,
        from: piece.from === IN ? frame : piece.from,
        to: piece.to === OUT ? frame : piece.to,
        points,
        kind,
      });
    });
  };
  // The frame around everything has neither header nor border.
  place(-1, 0, 0);

  const edgeStart = new Uint32Array(edges.length + 1);
  edges.forEach(({ points }, i) => (edgeStart[i + 1] = (edgeStart[i] ?? 0) + points.length / 2));
  const points = new Float32Array(2 * (edgeStart[edges.length] ?? 0));
  edges.forEach((edge, i) => points.set(edge.points, 2 * (edgeStart[i] ?? 0)));
  return {
    boxCount,
    kind: Uint8Array.from(lifted.boxes.kind),
    ref: Int32Array.from(lifted.boxes.ref),
    last: Int32Array.from(lifted.boxes.last),
    parent: Int32Array.from(lifted.boxes.parent),
    depth: Uint8Array.from(lifted.boxes.depth),
    x,
    y,
    w,
    h,
    axis: axes,
    boxOfNode: lifted.boxOfNode,
    edgeCount: edges.length,
    edgeStart,
    points,
    edgeKind: Uint8Array.from(edges, ({ kind }) => kind),
    edgeInner: Uint8Array.from(edges, ({ piece }) => (piece.inner ? 1 : 0)),
    edgeFrom: Int32Array.from(edges, ({ from }) => from),
    edgeTo: Int32Array.from(edges, ({ to }) => to),
    edgeSource: Uint32Array.from(edges, ({ piece }) => piece.source),
    edgeTarget: Uint32Array.from(edges, ({ piece }) => piece.target),
    edgeBytes: Float32Array.from(edges, ({ piece }) => piece.bytes),
    edgeValues: Uint32Array.from(edges, ({ piece }) => piece.values),
    ...placeStubs(model, lifted, extraStubs, { x, y, w, h }),
    left: FRAME_SIDE - whole.left,
    width: whole.left + whole.right - 2 * FRAME_SIDE,
    height: frames.get(-1)?.local.height ?? 0,
  };
}

/** Against program order: out at the side, up, and in again. */
function backRoute(
  piece: Piece,
  x: Float32Array,
  y: Float32Array,
  w: Float32Array,
  h: Float32Array,
): readonly number[] {
  const { from, to } = piece;
  const side = Math.min(x[from] ?? 0, x[to] ?? 0) - 24;
  const fromY = (y[from] ?? 0) + (h[from] ?? 0) / 2;
  const toY = (y[to] ?? 0) + (h[to] ?? 0) / 2;
  return [x[from] ?? 0, fromY, side, fromY, side, toY, Math.min(x[to] ?? 0, (x[to] ?? 0) + (w[to] ?? 0)), toY];
}

type StubColumns = Pick<Scene, "stubCount" | "stubBox" | "stubNode" | "stubMore" | "stubX" | "stubY" | "stubW">;

function placeStubs(
  model: GraphModel,
  lifted: Lifted,
  extra: ReadonlyMap<number, readonly number[]>,
  { x, y, w, h }: Pick<Scene, "x" | "y" | "w" | "h">,
): StubColumns {
  const rows: { box: number; node: number; more: number; x: number; y: number; w: number }[] = [];
  for (let box = 0; box < lifted.boxes.kind.length; box++) {
    const sources = [...(lifted.stubs.get(box) ?? []), ...(extra.get(box) ?? [])];
    if (sources.length === 0) continue;
    const shown = sources.slice(0, MAX_STUBS);
    // A frame's stubs hang outside its upper right corner, a card's are centred on its right side.
    const isFrame = lifted.boxes.kind[box] === BOX_KINDS.frame;
    const total = shown.length * STUB_HEIGHT + (shown.length - 1) * 4;
    const first = isFrame ? (y[box] ?? 0) + 10 : (y[box] ?? 0) + ((h[box] ?? 0) - total) / 2;
    shown.forEach((node, i) => {
      const more = i === shown.length - 1 ? sources.length - shown.length : 0;
      const width = stubWidth(nodeName(model.view, node) + (more > 0 ? ` +${more}` : ""));
      rows.push({
        box,
        node,
        more,
        x: (x[box] ?? 0) + (w[box] ?? 0) + STUB_GAP,
        y: first + i * (STUB_HEIGHT + 4),
        w: width,
      });
    });
  }
  return {
    stubCount: rows.length,
    stubBox: Int32Array.from(rows, (row) => row.box),
    stubNode: Int32Array.from(rows, (row) => row.node),
    stubMore: Uint16Array.from(rows, (row) => row.more),
    stubX: Float32Array.from(rows, (row) => row.x),
    stubY: Float32Array.from(rows, (row) => row.y),
    stubW: Float32Array.from(rows, (row) => row.w),
  };
}
