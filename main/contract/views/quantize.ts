/** A file in other types: the plan beforehand, progress tensor by tensor, and what each lost. */
import { z } from "zod";
import type { View } from "../define.ts";
import { figure, modelId } from "./common.ts";
import { writeDone, writePlace, writePlan, writeProgress } from "./write.ts";

const typeName = z.string().min(1).max(32);

export const quantizeChoice = z.object({
  model: modelId,
  /** "q4_k_m"; the engine names the recipes that it knows. */
  recipe: typeName,
  /** Types for tensors whose names match: `*` stands for anything, a pattern without it for a part of the name. The first counts. */
  overrides: z
    .array(z.object({ pattern: z.string().min(1).max(256), type: typeName }))
    .max(64)
    .default([]),
  output: typeName.optional(),
  embedding: typeName.optional(),
  /** Every weight gets the recipe's own type. */
  pure: z.boolean().default(false),
  /** An importance matrix: a file of this machine. */
  importance: z.string().min(1).max(4096).optional(),
});

export const quantizePlan = writePlan.extend({
  recipes: z.array(z.object({ id: z.string(), sentence: z.string(), needsImportance: z.boolean() })),
  bitsPerWeight: z.number(),
  /** Most bytes first. */
  types: z.array(z.object({ type: z.string(), tensors: z.number(), bytes: z.number() })),
  tensors: z.array(
    z.object({
      name: z.string(),
      from: z.string(),
      to: z.string(),
      bytes: z.number(),
      note: z.string().nullable(),
    }),
  ),
});
export type QuantizePlanView = View<typeof quantizePlan>;

export const quantizeInput = quantizeChoice.extend({
  ...writePlace.shape,
  /** Absent: nothing is written, the errors are measured all the same. */
  path: writePlace.shape.path.optional(),
});

export const importanceInput = z.object({
  model: modelId,
  text: z.string().min(1).max(268_435_456),
  /** What the text is called in the file. */
  textName: z.string().max(256).default(""),
  ...writePlace.shape,
  /** Tokens of a chunk. */
  chunk: z.number().int().min(1).max(65_536).default(512),
  /** Most chunks; all of the text without it. */
  chunks: z.number().int().min(1).optional(),
  threads: z.number().int().min(1).max(1024).nullable().default(null),
});

export const importanceItem = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), done: z.number(), of: z.number(), elapsedSeconds: z.number() }),
  z.object({
    kind: z.literal("done"),
    path: z.string(),
    bytes: z.number(),
    tokens: z.number(),
    chunks: z.number(),
    chunk: z.number(),
    weights: z.number(),
    /** Experts that no token reached, in all weights. */
    unreached: z.number(),
    seconds: figure,
    sentence: z.string(),
  }),
]);

const tensorReport = z.object({
  name: z.string(),
  from: z.string(),
  to: z.string(),
  bytes: z.number(),
  /** Root of the mean square error over that of the values. */
  relativeRms: z.number(),
});

export const quantizeItem = z.discriminatedUnion("kind", [
  writeProgress.extend({ tensor: z.string(), done: z.number(), of: z.number(), report: tensorReport.nullable() }),
  writeDone.extend({
    path: z.string().nullable(),
    bitsPerWeight: z.number(),
    relativeRms: z.number(),
    tensors: z.array(tensorReport),
  }),
]);
export type QuantizeItem = View<typeof quantizeItem>;
