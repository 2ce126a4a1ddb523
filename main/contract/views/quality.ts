/** How far the answers of several files of one model are from those of the best of them, over a text. */
import { z } from "zod";
import type { View } from "../define.ts";
import { modelId, referenceNotice } from "./common.ts";
import { DEFAULT_DEVICE, runDevice } from "./engine.ts";
import { textSource } from "./score.ts";

export const qualityInput = z.object({
  /** The file that the others are held against: f16, or the one with the most bits. */
  model: modelId,
  others: z.array(modelId).min(1).max(7),
  source: textSource,
  /** Tokens that are read at most; the rest of the text is left out. */
  most: z.number().int().min(2).max(65_536).default(512),
  device: runDevice.default(DEFAULT_DEVICE),
  threads: z.number().int().min(1).max(1024).nullable().default(null),
});

const divergence = z.object({
  /** Of all predicted tokens, in nats, with the standard error of the mean. */
  mean: z.number(),
  error: z.number(),
  median: z.number(),
  /** 99 of 100 tokens are below. */
  high: z.number(),
});

export const qualityFile = z.object({
  model: modelId,
  /** The file's name. */
  title: z.string(),
  bytes: z.number(),
  bitsPerWeight: z.number().nullable(),
  perplexity: z.number(),
  /** KL divergence of this file's distributions from the reference's; null for the reference itself. */
  divergence: divergence.nullable(),
  /** Share of the tokens where both find the same token the likeliest; null for the reference. */
  sameTop: z.number().nullable(),
});
export type QualityFile = View<typeof qualityFile>;

export const qualityItem = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("start"), reference: referenceNotice.nullable() }),
  z.object({
    kind: z.literal("progress"),
    /** What is being read. */
    title: z.string(),
    /** Tokens of all files. */
    done: z.number(),
    total: z.number(),
  }),
  z.object({
    kind: z.literal("done"),
    /** Tokens that were read, and those of the whole text. */
    tokens: z.number(),
    textTokens: z.number(),
    /** The reference first. */
    files: z.array(qualityFile),
  }),
]);
export type QualityItem = View<typeof qualityItem>;
export type QualityResult = Extract<QualityItem, { readonly kind: "done" }>;
