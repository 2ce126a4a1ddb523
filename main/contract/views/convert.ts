/** A model as other GGUF files: the plan beforehand, progress, and what was written. */
import { z } from "zod";
import type { View } from "../define.ts";
import { modelId } from "./common.ts";
import { writeDone, writePlace, writePlan, writeProgress } from "./write.ts";

export const CONVERT_TYPES = ["f32", "f16", "bf16", "q8_0"] as const;

export const convertChoice = z.object({
  model: modelId,
  /** The type of matrices; null for what they have. */
  type: z.enum(CONVERT_TYPES).nullable().default(null),
  /** Most bytes and most tensors of a part; null for one file. */
  splitBytes: z.number().int().min(1).nullable().default(null),
  splitTensors: z.number().int().min(1).nullable().default(null),
});

export const convertPlan = writePlan.extend({
  /** What the model is read from: "GGUF 3", "3 safetensors files". */
  from: z.string(),
  parts: z.array(z.object({ name: z.string(), bytes: z.number(), tensors: z.number() })),
  types: z.array(z.object({ from: z.string(), to: z.string(), tensors: z.number(), bytes: z.number() })),
});
export type ConvertPlanView = View<typeof convertPlan>;

/** The path is that of one file; parts get their number before its ending. */
export const convertInput = convertChoice.extend(writePlace.shape);

export const convertItem = z.discriminatedUnion("kind", [
  writeProgress.extend({ part: z.number() }),
  writeDone.extend({ paths: z.array(z.string()) }),
]);
export type ConvertItem = View<typeof convertItem>;
