/** From what a file says of its model to the graph: one function per family. */
import type { Architecture, Family } from "../formats/gguf/architecture.ts";
import type { Graph, WeightSource } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import { finish } from "../ir/steps.ts";
import type { ModelOptions } from "./blocks.ts";
import { Decoder } from "./blocks.ts";
import { llama } from "./llama.ts";
import { qwen2 } from "./qwen2.ts";
import { qwen3 } from "./qwen3.ts";

const FAMILY: { readonly [F in Family]: (decoder: Decoder) => Steps<Graph> } = { llama, qwen2, qwen3 };

/**
 * The graph of one step: `tokens` i32[T], `past` i32[] and `logit_rows` i32[R] in, `logits` f32[R, vocabulary] out,
 * caches `k.<i>`, `v.<i>` as states.
 */
export const buildModel = (architecture: Architecture, weights: WeightSource, options: ModelOptions): Graph =>
  finish(buildModelInSteps(architecture, weights, options));

export const buildModelInSteps = (
  architecture: Architecture,
  weights: WeightSource,
  options: ModelOptions,
): Steps<Graph> => FAMILY[architecture.family](new Decoder(architecture, weights, options));
