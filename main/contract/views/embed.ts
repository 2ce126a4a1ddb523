/** Vectors of texts, and documents sorted by how well they answer a query. */
import { z } from "zod";
import type { View } from "../define.ts";
import { f32, modelId, phaseItem, referenceNotice } from "./common.ts";
import { DEFAULT_DEVICE, runDevice } from "./engine.ts";

/** How one vector is made of the rows of a text's tokens: none keeps them all, rank gives scores. */
export const POOLINGS = ["none", "mean", "cls", "last", "rank"] as const;
export const pooling = z.enum(POOLINGS);

const text = z.string().max(16_777_216);
const texts = z.array(text).min(1).max(10_000);
const how = {
  model: modelId,
  device: runDevice.default(DEFAULT_DEVICE),
  threads: z.number().int().min(1).max(1024).nullable().default(null),
};

const start = z.object({ kind: z.literal("start"), reference: referenceNotice.nullable() });
const progress = z.object({ kind: z.literal("progress"), done: z.number(), total: z.number() });

export const embedInput = z.object({
  ...how,
  texts,
  /** null: as the file says. */
  pooling: pooling.nullable().default(null),
  /** Vectors of length 1; scores stay as they are. */
  normalise: z.boolean().default(true),
  /** Cosines of every text with every other. */
  similarity: z.boolean().default(false),
});

export const embedItem = z.discriminatedUnion("kind", [
  phaseItem,
  start,
  progress,
  z.object({
    kind: z.literal("done"),
    pooling,
    normalised: z.boolean(),
    width: z.number(),
    /** What the scores of `rank` are called, in their order; empty for vectors. */
    labels: z.array(z.string()),
    /** `vectors`: [rows, width]. */
    texts: z.array(z.object({ tokens: z.number(), rows: z.number(), vectors: f32 })),
    /** [texts, texts]; null unless asked for. */
    similarity: f32.nullable(),
  }),
]);
export type EmbedItem = View<typeof embedItem>;
export type Embedded = Extract<EmbedItem, { readonly kind: "done" }>;

export const rerankInput = z.object({ ...how, query: text, documents: texts });

export const rerankItem = z.discriminatedUnion("kind", [
  phaseItem,
  start,
  progress,
  z.object({
    kind: z.literal("done"),
    /** A reranker scores query and document together; of other embedders, it is the cosine of the two vectors. */
    by: z.enum(["score", "cosine"]),
    /** The best first; `document` counts from 0. */
    results: z.array(z.object({ document: z.number(), score: z.number(), tokens: z.number() })),
  }),
]);
export type RerankItem = View<typeof rerankItem>;
export type Reranked = Extract<RerankItem, { readonly kind: "done" }>;
