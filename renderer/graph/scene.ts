/** The laid-out picture as flat arrays, ready to be drawn, indexed and sent from a worker. Coordinates are absolute. */
export interface Scene {
  readonly boxCount: number;
  /** See BOX_KINDS; frames come before what they hold. */
  readonly kind: Uint8Array;
  readonly ref: Int32Array;
  readonly last: Int32Array;
  readonly parent: Int32Array;
  readonly depth: Uint8Array;
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly w: Float32Array;
  readonly h: Float32Array;
  /** Where edges come in and leave; a frame with more on one side has it off its middle. */
  readonly axis: Float32Array;
  readonly boxOfNode: Int32Array;

  readonly edgeCount: number;
  /** Points of edge i: points[2·k], points[2·k+1] for k in start[i] … start[i+1]-1. */
  readonly edgeStart: Uint32Array;
  readonly points: Float32Array;
  /** EDGE_KINDS. */
  readonly edgeKind: Uint8Array;
  /** 1: a piece inside a frame that repeats what an outer piece says. */
  readonly edgeInner: Uint8Array;
  /** Boxes at its ends; the frame's own box where it passes a port. */
  readonly edgeFrom: Int32Array;
  readonly edgeTo: Int32Array;
  readonly edgeSource: Uint32Array;
  readonly edgeTarget: Uint32Array;
  readonly edgeBytes: Float32Array;
  readonly edgeValues: Uint32Array;

  /** A stub says by name what a box reads from elsewhere: the box, and the producing node (-1: so many more). */
  readonly stubCount: number;
  readonly stubBox: Int32Array;
  readonly stubNode: Int32Array;
  readonly stubMore: Uint16Array;
  readonly stubX: Float32Array;
  readonly stubY: Float32Array;
  readonly stubW: Float32Array;

  /** The whole picture: its left border (the axis is at 0), its size; it begins at y = 0. */
  readonly left: number;
  readonly width: number;
  readonly height: number;
}

export const EDGE_KINDS = { plain: 0, state: 1, back: 2, turn: 3 } as const;
export const STUB_HEIGHT = 20;
