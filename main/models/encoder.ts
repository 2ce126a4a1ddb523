/**
 * What encoders have in common: their keys over those of dense layers, how a file says what its vectors are, and
 * what the overview says of them. The graph of a whole text is in textGraph.ts.
 */
import type { Graph, Value, WeightSource } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import type { ModelGraph } from "./blocks.ts";
import type { DenseHyper, DenseStyle } from "./dense.ts";
import { DENSE, readDense } from "./dense.ts";
import type { DenseLayer } from "./denseBlocks.ts";
import { denseLayers } from "./denseBlocks.ts";
import type { EmbedOptions, EmbedderReading, EmbedderSpec, EncoderSpec, Pooling } from "./family.ts";
import { POOLINGS } from "./family.ts";
import type { HyperReader } from "./hyperReader.ts";
import type { RankHead, TextRules } from "./textGraph.ts";
import { TextGraph } from "./textGraph.ts";

export interface EncoderHyper extends DenseHyper {
  readonly embedder: EmbedderReading;
  /** Rows of token_types.weight, of which the first is added to every token; 0 without it. */
  readonly tokenTypes: number;
}

/** What a file says of its vectors; undefined where it names no pooling. */
export function readEmbedder(keys: HyperReader): EmbedderReading | undefined {
  const type = keys.optionalCount("pooling_type");
  if (type === undefined) return undefined;
  const pooling = POOLINGS[type];
  if (pooling === undefined) throw keys.badKey("pooling_type", type, `0 to ${POOLINGS.length - 1}`);
  const labels = readLabels(keys);
  if (pooling === "rank" && labels.length === 0)
    throw keys.badKey("pooling_type", "4 (rank)", "a file with cls.weight or cls.output.weight");
  return { pooling, labels };
}

/** Names of what a head scores: as the file says, or "score" for the only one. */
export function readLabels(keys: HyperReader): readonly string[] {
  if (!keys.has("cls.weight") && !keys.has("cls.output.weight")) return [];
  const given = keys.texts("classifier.output_labels");
  return given.length === 0 ? ["score"] : given;
}

export function readEncoder(
  keys: HyperReader,
  style: Omit<DenseStyle, "sight">,
  otherwise: Pooling = "mean",
): EncoderHyper {
  const types = keys.file.metadata.optionalCount("tokenizer.ggml.token_type_count") ?? 0;
  return {
    ...readDense(keys, { ...style, sight: "both ways" }),
    embedder: readEmbedder(keys) ?? { pooling: otherwise, labels: readLabels(keys) },
    tokenTypes: keys.has("token_types.weight") ? Math.max(1, types) : 0,
  };
}

/** The parts of a family that every encoder shares. */
export const ENCODER: Pick<EncoderSpec<EncoderHyper>, "sizes" | "sentence" | "facts"> = {
  sizes: ({ layers, width, feedForward, vocabulary, context }) => ({ layers, width, feedForward, vocabulary, context }),
  sentence: ({ layers, embedder }) =>
    embedder.pooling === "rank"
      ? `An encoder of ${layers} layers that scores texts.`
      : `An encoder of ${layers} layers that makes vectors of texts.`,
  facts: (h) => [...DENSE.facts(h), ...embedderFacts(h.embedder)],
};

const POOLED: Readonly<Record<Pooling, string>> = {
  none: "none: a vector for each token",
  mean: "mean of all tokens",
  cls: "the first token",
  last: "the last token",
  rank: "scores",
};

const embedderFacts = ({ pooling, labels }: EmbedderReading): { label: string; value: string }[] => [
  { label: "pooling", value: POOLED[pooling] },
  ...(labels.length === 0 ? [] : [{ label: "scores", value: labels.join(", ") }]),
];

/** The stream with the vector of the first type, which is that of all tokens, normed. */
export function withTypes(d: ModelGraph, { tokenTypes, width }: EncoderHyper, x: Value): Value {
  const typed = tokenTypes === 0 ? x : d.g.add([x, d.firstRow("token_types.weight", [tokenTypes, width])], {}, "typed");
  return d.norm(typed, "token_embd_norm", width, "norm");
}

interface Layers<H extends DenseHyper> {
  readonly block: (layer: DenseLayer, x: Value, h: H) => Value;
  readonly begin?: (d: ModelGraph, x: Value, h: H) => Value;
  readonly rules: (h: H) => TextRules;
}

/** The graph of a whole text over layers that look alike. */
export const textLayers =
  <H extends DenseHyper>({ block, begin, rules }: Layers<H>) =>
  (h: H, weights: WeightSource, options: EmbedOptions): Steps<Graph> =>
    denseLayers(
      new TextGraph(h, weights, options, rules(h)),
      h,
      (layer, x) => block(layer, x, h),
      begin && ((d, x) => begin(d, x, h)),
    );

/** A head of scores, for files that name some. */
export const rankHead = (
  labels: readonly string[],
  head: Omit<RankHead, "labels" | "row" | "activation" | "softmax"> & Partial<RankHead>,
): RankHead | undefined =>
  labels.length === 0
    ? undefined
    : { row: "first", activation: "tanh", softmax: false, ...head, labels: labels.length };

/** A decoder that makes vectors of texts where its file names a pooling: its own layers, over the whole text. */
export interface DenseEmbedderHyper extends DenseHyper {
  readonly embedder?: EmbedderReading | undefined;
}

export const denseEmbedder = (
  block: (layer: DenseLayer, x: Value) => Value,
  rank: Partial<RankHead> = {},
): EmbedderSpec<DenseEmbedderHyper> => ({
  reading: ({ embedder }) => embedder,
  graph: textLayers<DenseEmbedderHyper>({
    block,
    rules: ({ embedder }) => ({
      sight: "causal",
      finalNorm: "output_norm",
      rank: rankHead(embedder?.labels ?? [], { row: "last", ...rank }),
    }),
  }),
});
