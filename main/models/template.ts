/**
 * From a file to its model's template: the graph with open symbols that every device binds and compiles.
 * Of a decoder, it is the graph of a step; of an encoder, that of a whole text.
 */
import type { GgufFile } from "../formats/gguf/file.ts";
import { weightSourceOf } from "../formats/gguf/weightSource.ts";
import type { Graph } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import { requireArchitecture } from "./architecture.ts";
import type { CacheType } from "./blocks.ts";
import { CAPACITY, INPUTS, RING, ROWS, TOKENS } from "./blocks.ts";
import { SOURCE } from "./encoderDecoder.ts";

/** Most tokens of a prompt in one run: enough for full speed, few enough to show progress. */
export const CHUNK = 512;
/** Tokens of a prefill step in a Core ML package: Apple's advice for prompts on the Neural Engine. */
export const PREFILL_BUCKET = 64;

/** The symbols of a template, the input that counts new tokens, and the largest fixed step. */
export const TEMPLATE = {
  tokens: TOKENS,
  rows: ROWS,
  capacity: CAPACITY,
  ring: RING,
  source: SOURCE,
  input: INPUTS.tokens,
  bucket: PREFILL_BUCKET,
} as const;

/** True for the graph of a whole text; that of a step has a past. */
export const isWholeText = ({ inputs, nodes }: Graph): boolean =>
  inputs.some((id) => nodes[id]?.attrs["name"] === INPUTS.length);

/** True for a graph that counts new tokens: a model's step. */
export const isStep = ({ inputs, nodes }: Graph): boolean =>
  inputs.some((id) => nodes[id]?.attrs["name"] === INPUTS.tokens);

/** True for a step of an encoder-decoder: it takes what the encoder read. */
export const readsSource = ({ inputs, nodes }: Graph): boolean =>
  inputs.some((id) => nodes[id]?.attrs["name"] === INPUTS.sourceLength);

export interface TemplateOptions {
  /** Element type of keys and values. */
  readonly cacheType: CacheType;
  readonly largestStep?: number;
  readonly largestRows?: number;
  /** Most positions of a cache; the model's own context when absent. */
  readonly largestCapacity?: number;
  /** With an output for each layer with experts, of what its router picked. */
  readonly countsExperts?: boolean;
  /** Layers that see only the newest positions keep no others. */
  readonly rings?: boolean;
}

/** The encoder's graph of a whole text, for decoders that have one. */
export function encoderTemplate(file: GgufFile): Steps<Graph> | undefined {
  const architecture = requireArchitecture(file);
  if (architecture.kind !== "decoder" || architecture.encoder === undefined) return undefined;
  return architecture.encoder.graph(weightSourceOf(file), { largestText: architecture.context });
}

export function template(file: GgufFile, options: TemplateOptions): Steps<Graph> {
  const architecture = requireArchitecture(file);
  const { cacheType, largestStep = CHUNK, largestRows = CHUNK, largestCapacity = architecture.context } = options;
  if (architecture.kind === "encoder") {
    const { pooling, graph } = architecture.embedder;
    return graph(weightSourceOf(file), { pooling, largestText: largestCapacity });
  }
  const { countsExperts = false, rings = false } = options;
  return architecture.graph(weightSourceOf(file), {
    capacity: CAPACITY,
    cacheType,
    largestStep,
    largestRows,
    largestCapacity,
    countsExperts,
    rings,
  });
}
