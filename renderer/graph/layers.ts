/** What the layout of one frame is given, what it works on, and what it gives back. */
export const IN = -1;
export const OUT = -2;
export const LONG_SPAN = 8;

export interface LocalSize {
  /** From the axis (where edges come in and leave) to the borders of the box. */
  readonly left: number;
  readonly right: number;
  readonly height: number;
  /** Room to the right that goes with the box, for stubs. */
  readonly extra: number;
}
export interface LocalEdge {
  readonly from: number;
  readonly to: number;
}
export interface LocalLayout {
  /** Axis of each member relative to the frame's axis, its top relative to the first rank. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** From the frame's axis to the outermost members, and the height of all ranks. */
  readonly left: number;
  readonly right: number;
  readonly height: number;
  /** Whether something comes in at the top, leaves at the bottom. */
  readonly hasIn: boolean;
  readonly hasOut: boolean;
  /** Per edge: x, y, x, y … in the same coordinates; empty when it was cut or runs against program order. */
  readonly routes: readonly Float64Array[];
  readonly cut: Uint8Array;
  readonly back: Uint8Array;
}

/** Members, ports and bends in ranks, with edges between neighbouring ranks only. */
export interface Layers {
  readonly rank: number[];
  /** Length of the longest way to a node; a bend has that of the node its edge comes from. */
  readonly depth: number[];
  readonly order: number[];
  readonly left: number[];
  readonly right: number[];
  readonly height: number[];
  readonly isBend: boolean[];
  readonly up: number[][];
  readonly down: number[][];
  readonly ranks: number[][];
}
