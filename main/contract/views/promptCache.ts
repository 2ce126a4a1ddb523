/** Prompt caches: a session's tokens and states as a file, for the next process. */
import { z } from "zod";
import type { View } from "../define.ts";
import { cacheType, figure, LARGEST_CONTEXT, modelId } from "./common.ts";
import { DEFAULT_DEVICE, runDevice } from "./engine.ts";
import { precision } from "./graph.ts";

export const PROMPT_CACHE_ENDING = ".rlxcache";

/** Device, context, threads and what a run computes and keeps its numbers in choose the session, as they do for a run. */
export const promptCacheInput = z.object({
  model: modelId,
  path: z.string().min(1).max(4096),
  device: runDevice.default(DEFAULT_DEVICE),
  context: z.number().int().min(1).max(LARGEST_CONTEXT).nullable().default(null),
  threads: z.number().int().min(1).max(1024).nullable().default(null),
  precision: precision.default("f32"),
  cacheType: cacheType.nullable().default(null),
});

export const promptCacheView = z.object({
  path: z.string(),
  bytes: z.number(),
  tokens: z.number(),
  seconds: figure,
  sentence: z.string(),
});
export type PromptCacheView = View<typeof promptCacheView>;
