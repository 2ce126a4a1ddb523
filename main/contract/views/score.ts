/** Tokens of a text, how likely a model finds each of them, and which experts take them. */
import { z } from "zod";
import type { View } from "../define.ts";
import { cacheType, f64, i32, modelId, referenceNotice, u32 } from "./common.ts";
import { DEFAULT_DEVICE, runDevice } from "./engine.ts";

const text = z.string().max(268_435_456);
/** The tokens that a model's tokenizer adds around a text. */
const addSpecial = z.boolean().default(true);

export const encodeInput = z.object({ model: modelId, text, addSpecial });
/** `pieces`: the text of each token; incomplete UTF-8 bytes print as <0xE3>. */
export const encoded = z.object({ tokens: i32, pieces: z.array(z.string()) });

export const textSource = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("text"), text, addSpecial }),
  z.object({ kind: z.literal("tokens"), tokens: i32 }),
]);

export const scoreInput = z.object({
  model: modelId,
  source: textSource,
  device: runDevice.default(DEFAULT_DEVICE),
  /** Element type of keys and values. */
  cache: cacheType.default("f32"),
  /** Tokens handled at once. */
  chunk: z.number().int().min(1).max(65_536).default(512),
  threads: z.number().int().min(1).max(1024).nullable().default(null),
});

export const scoreItem = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("start"), reference: referenceNotice.nullable() }),
  z.object({ kind: z.literal("progress"), done: z.number(), total: z.number() }),
  z.object({
    kind: z.literal("done"),
    tokens: i32,
    /** null: an id without a piece, or a tokenizer that is not known. */
    pieces: z.array(z.string().nullable()),
    /** Of each token after those before it; NaN for the first. */
    logprobs: f64,
    perplexity: z.number(),
  }),
]);
export type ScoreItem = View<typeof scoreItem>;

export const expertsInput = z.object({
  model: modelId,
  source: textSource,
  device: runDevice.default(DEFAULT_DEVICE),
  threads: z.number().int().min(1).max(1024).nullable().default(null),
});

export const expertsItem = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("start"), reference: referenceNotice.nullable() }),
  z.object({ kind: z.literal("progress"), done: z.number(), total: z.number() }),
  z.object({
    kind: z.literal("done"),
    tokens: z.number(),
    /** Layers that have experts: for each expert the tokens that it took. */
    layers: z.array(z.object({ layer: z.number(), counts: u32 })),
  }),
]);
export type ExpertsItem = View<typeof expertsItem>;
export type ExpertsDone = Extract<ExpertsItem, { readonly kind: "done" }>;
