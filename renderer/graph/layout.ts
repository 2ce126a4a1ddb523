/**
 * Lays out everything that is shown, from the innermost frame outwards. Frames whose small graphs are equal share one layout,
 * so that four hundred equal blocks cost as much as one.
 */
import { NODE_FLAGS } from "../../main/contract/views/graph.ts";
import { assemble, footerOf, FRAME_SIDE, headerOf, NO_SIZE, STACK_LIP, stubRoom } from "./assemble.ts";
import type { PlacedFrame } from "./assemble.ts";
import type { ColumnLayout } from "./columns.ts";
import { breakIntoColumns } from "./columns.ts";
import type { FoldState } from "./fold.ts";
import { foldGraph } from "./fold.ts";
import type { GraphModel } from "./graphModel.ts";
import { layoutLayered } from "./layered.ts";
import type { LocalEdge, LocalSize } from "./layers.ts";
import { IN, OUT } from "./layers.ts";
import { BOX_KINDS, lift } from "./lift.ts";
import type { Scene } from "./scene.ts";

/** How much room there is: a small canvas gets narrower cards that stand closer; a map is broken into columns. */
export interface LayoutRoom {
  readonly compact: boolean;
  readonly map: boolean;
  /** Width by height of the canvas, for a map. */
  readonly aspect: number;
}

export const ROOMY: LayoutRoom = { compact: false, map: false, aspect: 1.25 };

interface Measures {
  readonly width: number;
  readonly gapY: number;
  readonly op: number;
  readonly group: number;
  /** A graph's input does nothing: one line is enough for it. */
  readonly input: { readonly width: number; readonly height: number };
}
const MEASURES: { readonly roomy: Measures; readonly compact: Measures } = {
  roomy: { width: 224, gapY: 36, op: 50, group: 56, input: { width: 140, height: 32 } },
  compact: { width: 210, gapY: 26, op: 46, group: 50, input: { width: 124, height: 28 } },
};

export function layoutScene(model: GraphModel, state: FoldState, room: LayoutRoom = ROOMY): Scene {
  const measures = room.compact ? MEASURES.compact : MEASURES.roomy;
  const lifted = lift(model, foldGraph(model, state));
  const sizes = new Map<number, LocalSize>();
  const frames = new Map<number, PlacedFrame>();
  const cache = new Map<string, ColumnLayout>();
  const extraStubs = new Map<number, number[]>();

  const measure = (frame: number): LocalSize => {
    const members = lifted.members.get(frame) ?? [];
    for (const box of members) sizes.set(box, sizeOf(box));
    const number = new Map(members.map((box, i) => [box, i]));
    const pieces = lifted.pieces.get(frame) ?? [];
    const local = layoutOnce(
      members.map((box) => sizes.get(box) ?? NO_SIZE),
      pieces.map(({ from, to }) => ({
        from: from === IN ? IN : (number.get(from) ?? 0),
        to: to === OUT ? OUT : (number.get(to) ?? 0),
      })),
      { gapY: measures.gapY, aspect: room.map && frame < 0 ? room.aspect : null },
      cache,
    );
    frames.set(frame, { members, pieces, local });
    pieces.forEach((piece, i) => {
      if (local.cut[i] === 1 && piece.to !== OUT)
        extraStubs.set(piece.to, [...(extraStubs.get(piece.to) ?? []), piece.source]);
    });
    return {
      left: local.left + FRAME_SIDE,
      right: local.right + FRAME_SIDE,
      height: headerOf(local) + local.height + footerOf(local),
      extra: 0,
    };
  };
  const sizeOf = (box: number): LocalSize => {
    const kind = lifted.boxes.kind[box];
    if (kind === BOX_KINDS.frame) return measure(box);
    const half = measures.width / 2;
    const extra = stubRoom(model, lifted.stubs.get(box) ?? []);
    if (kind === BOX_KINDS.op && isInput(model, lifted.boxes.ref[box] ?? 0)) {
      const { width, height } = measures.input;
      return { left: width / 2, right: width / 2, height, extra };
    }
    if (kind === BOX_KINDS.op) return { left: half, right: half, height: measures.op, extra };
    if (kind === BOX_KINDS.group) return { left: half, right: half, height: measures.group, extra };
    return { left: half, right: half, height: measures.group + STACK_LIP, extra };
  };
  const whole = measure(-1);
  return assemble(model, lifted, frames, sizes, extraStubs, whole);
}

const isInput = (model: GraphModel, node: number): boolean =>
  ((model.view.nodes.flags[node] ?? 0) & (NODE_FLAGS.input | NODE_FLAGS.state)) === NODE_FLAGS.input;

function layoutOnce(
  sizes: readonly LocalSize[],
  edges: readonly LocalEdge[],
  { gapY, aspect }: { readonly gapY: number; readonly aspect: number | null },
  cache: Map<string, ColumnLayout>,
): ColumnLayout {
  const key = `${sizes.map((s) => `${s.left},${s.right},${s.height},${s.extra}`).join(";")}|${edges.map((e) => `${e.from}>${e.to}`).join(";")}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const strip = layoutLayered(sizes, edges, gapY);
  const layout =
    aspect === null
      ? { ...strip, turns: new Uint8Array(edges.length), columns: 1 }
      : breakIntoColumns(strip, sizes, aspect);
  cache.set(key, layout);
  return layout;
}
