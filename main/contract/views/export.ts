/** Export of an .mlpackage: the plan beforehand, progress, and the report of how each weight was mapped. */
import { z } from "zod";
import type { View } from "../define.ts";
import { ability, figure, modelId, phaseItem, targetSpec } from "./common.ts";

export const exportPlan = z.object({
  suggestedPath: z.string(),
  bytes: figure,
  sourceBytes: z.number(),
  freeDiskBytes: z.number().nullable(),
  functions: z.array(z.string()),
  forms: z.array(
    z.object({
      source: z.string(),
      form: z.string(),
      bitsPerWeight: z.number(),
      tensors: z.number(),
      bytes: z.number(),
    }),
  ),
  sentence: z.string(),
  can: ability,
});
export type ExportPlan = View<typeof exportPlan>;

export const exportInput = z.object({
  model: modelId,
  target: targetSpec,
  path: z.string().min(1).max(4096),
  overwrite: z.boolean().default(false),
});

export const weightRow = z.object({
  name: z.string(),
  source: z.string(),
  form: z.string(),
  bitsPerWeight: z.number(),
  bytes: z.number(),
  /** RMS of the difference over the RMS of the source; 0 when nothing was lost. */
  relativeRms: z.number(),
  note: z.string().nullable(),
});
export type WeightRow = View<typeof weightRow>;

export const exportItem = z.discriminatedUnion("kind", [
  phaseItem,
  z.object({
    kind: z.literal("progress"),
    doneBytes: z.number(),
    totalBytes: z.number(),
    tensor: z.string(),
    elapsedSeconds: z.number(),
  }),
  z.object({
    kind: z.literal("done"),
    path: z.string(),
    bytes: z.number(),
    ratioToSource: z.number(),
    seconds: figure,
    functions: z.array(z.string()),
    sentence: z.string(),
    weights: z.array(weightRow),
  }),
]);
export type ExportItem = View<typeof exportItem>;
export const exportModel = z.object({ model: modelId, target: targetSpec });
