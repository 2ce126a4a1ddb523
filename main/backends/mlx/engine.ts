/**
 * The MLX engine as portable code sees it: plans over mapped weight files, sessions, and runs that never block.
 * main/node/native/mlxAddon.ts implements it over the addon; nothing else does.
 */

export const MLX_MODES = ["lazy", "eager", "compiled"] as const;
/** lazy: one evaluation per run · eager: one per call, the failing one is named · compiled: traced once per set of sizes. */
export type MlxMode = (typeof MLX_MODES)[number];

export interface MlxMemory {
  readonly active: number;
  readonly peak: number;
  readonly cache: number;
  readonly limit: number;
}

/** How one weight of the file is held, and how far that is from the exact values of its blocks. */
export interface HeldWeight {
  readonly name: string;
  readonly type: string;
  readonly form: string;
  readonly bytes: number;
  readonly largestError: number;
  /** Root of the mean square error over that of the values. */
  readonly relativeError: number;
}
