/** What every command that writes a model has in common: a plan, a place, progress, and what was written. */
import { z } from "zod";
import type { View } from "../define.ts";
import { ability, figure } from "./common.ts";

export const writePlan = z.object({
  suggestedPath: z.string(),
  bytes: figure,
  sourceBytes: z.number(),
  freeDiskBytes: z.number().nullable(),
  sentence: z.string(),
  can: ability,
});
export type WritePlan = View<typeof writePlan>;

export const writePlace = z.object({
  path: z.string().min(1).max(4096),
  overwrite: z.boolean().default(false),
});

export const writeProgress = z.object({
  kind: z.literal("progress"),
  /** What is being written now. */
  sentence: z.string(),
  doneBytes: z.number(),
  totalBytes: z.number(),
  elapsedSeconds: z.number(),
});

export const writeDone = z.object({
  kind: z.literal("done"),
  bytes: z.number(),
  ratioToSource: z.number(),
  seconds: figure,
  sentence: z.string(),
});
