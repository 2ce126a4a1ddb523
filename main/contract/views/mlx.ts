/**
 * MLX as the alternative to Core ML in the routing view: what it would do with each op, how it would hold each weight, and how long
 * a step takes by what this machine measured. No MLX has to be here for it: only the times and the measured errors need one.
 */
import { z } from "zod";
import type { View } from "../define.ts";
import { LARGEST_CONTEXT, fact, figure, modelId, phase, u32, u8 } from "./common.ts";
import { graphKey } from "./graph.ts";

/** In the order of the byte codes of the column. none: a leaf, or an op that MLX's passes took into another. */
export const MLX_STATES = ["none", "native", "decomposed", "unsupported"] as const;
export const mlxState = z.enum(MLX_STATES);
export type MlxState = z.output<typeof mlxState>;
export const mlxStateOf = (code: number): MlxState => MLX_STATES[code] ?? "none";

export const mlxOpRow = z.object({
  op: z.string(),
  state: mlxState,
  count: z.number(),
  reason: z.string(),
  /** Ops that run in its place; itself when native. */
  parts: z.array(z.string()),
  /** First node of the shown graph that comes from such an op; -1: none stands there. */
  node: z.number(),
});
export type MlxOpRow = View<typeof mlxOpRow>;

export const mlxWeightRow = z.object({
  /** Element type in the file. */
  type: z.string(),
  tensors: z.number(),
  /** How MLX holds it: "affine, 4 bits, groups of 32, …", "f16", or as it is. */
  form: z.string(),
  kind: z.enum(["exact", "f16", "same"]),
  fileBytes: z.number(),
  heldBytes: figure,
  bitsPerWeight: z.number(),
  /** ‖W′ − W‖ / ‖W‖; null where there is no data to compare. */
  error: figure.nullable(),
});
export type MlxWeightRow = View<typeof mlxWeightRow>;

export const mlxRouteInput = z.object({
  model: modelId,
  phase,
  context: z.number().int().min(1).max(LARGEST_CONTEXT),
});

export const mlxRoute = z.object({
  /** The legal graph whose node indices the columns use: the one that the routing view shows. */
  key: graphKey,
  phase,
  /** Whether MLX is here, and what it is or what is missing. */
  available: z.boolean(),
  title: z.string(),
  sentence: z.string(),
  strings: z.array(z.string()),
  /** Per node: code of MLX_STATES and the reason (string index). */
  nodes: z.object({ state: u8, reason: u32 }),
  counts: z.object({ native: z.number(), decomposed: z.number(), unsupported: z.number() }),
  ops: z.array(mlxOpRow),
  weights: z.array(mlxWeightRow),
  heldBytes: figure.nullable(),
  /** One step of the phase, from calibration; null without one, and then `whyNoTime` says what it needs. */
  seconds: figure.nullable(),
  arithmetic: z.array(fact),
  whyNoTime: z.string().nullable(),
});
export type MlxRoute = View<typeof mlxRoute>;
