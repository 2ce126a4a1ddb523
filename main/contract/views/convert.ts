/** A model as other GGUF files: the plan beforehand, progress, and what was written. */
import { z } from "zod";
import type { View } from "../define.ts";
import { ability, figure, modelId } from "./common.ts";

export const CONVERT_TYPES = ["f32", "f16", "bf16", "q8_0"] as const;

export const convertChoice = z.object({
  model: modelId,
  /** The type of matrices; null for what they have. */
  type: z.enum(CONVERT_TYPES).nullable().default(null),
  /** Most bytes and most tensors of a part; null for one file. */
  splitBytes: z.number().int().min(1).nullable().default(null),
  splitTensors: z.number().int().min(1).nullable().default(null),
});

export const convertPlan = z.object({
  /** What the model is read from: "GGUF 3", "3 safetensors files". */
  from: z.string(),
  suggestedPath: z.string(),
  bytes: figure,
  sourceBytes: z.number(),
  freeDiskBytes: z.number().nullable(),
  parts: z.array(z.object({ name: z.string(), bytes: z.number(), tensors: z.number() })),
  types: z.array(z.object({ from: z.string(), to: z.string(), tensors: z.number(), bytes: z.number() })),
  sentence: z.string(),
  can: ability,
});
export type ConvertPlanView = View<typeof convertPlan>;

export const convertInput = convertChoice.extend({
  /** Of one file; parts get their number before its ending. */
  path: z.string().min(1).max(4096),
  overwrite: z.boolean().default(false),
});

export const convertItem = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("progress"),
    doneBytes: z.number(),
    totalBytes: z.number(),
    part: z.number(),
    elapsedSeconds: z.number(),
  }),
  z.object({
    kind: z.literal("done"),
    paths: z.array(z.string()),
    bytes: z.number(),
    ratioToSource: z.number(),
    seconds: figure,
    sentence: z.string(),
  }),
]);
