/** Export of an .mlpackage: the plan beforehand, progress, and the report of how each weight was mapped. */
import { z } from "zod";
import type { View } from "../define.ts";
import { modelId, phaseItem, targetSpec } from "./common.ts";
import { symbolSizes } from "./text.ts";
import { writeDone, writePlace, writePlan, writeProgress } from "./write.ts";

export const exportPlan = writePlan.extend({
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
});
export type ExportPlan = View<typeof exportPlan>;

export const exportModel = z.object({
  model: modelId,
  target: targetSpec,
  /** Of a graph in text; the context, or a smaller limit of the text, for those that nothing is said of. */
  symbols: symbolSizes.optional(),
});
export const exportInput = exportModel.extend(writePlace.shape);

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
  writeProgress.extend({ tensor: z.string() }),
  writeDone.extend({ path: z.string(), functions: z.array(z.string()), weights: z.array(weightRow) }),
]);
export type ExportItem = View<typeof exportItem>;
