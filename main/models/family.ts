/**
 * A model family, of decoders or of encoders: one file that owns the keys it reads, the tensors it
 * expects, its graph, and the values of `general.architecture` it answers for. Its hyper-parameters
 * are its own type; the rest of the program sees only the `Architecture` made from them.
 */
import type { GgufFile } from "../formats/gguf/file.ts";
import type { Graph, LowRank, WeightSource } from "../ir/graph.ts";
import { staticDim } from "../ir/dim.ts";
import type { Steps } from "../ir/steps.ts";
import { finish } from "../ir/steps.ts";
import { tensor } from "../ir/type.ts";
import type { ModelOptions } from "./blocks.ts";
import { HyperReader } from "./hyperReader.ts";

/** A tensor that the family's graph reads. */
export interface TensorSpec {
  readonly name: string;
  readonly shape: readonly number[];
}

/** What forecasts and views need to know of a model of any family. */
export interface TextSizes {
  readonly layers: number;
  readonly width: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  /** Positions it was trained for. */
  readonly context: number;
}

/** Elements of keys and values. */
export interface CacheSize {
  readonly elements: number;
  readonly product: string;
  /** Of the elements, those of layers that see only so many positions before their own: rings hold no more of them. */
  readonly local?: { readonly elements: number; readonly product: string; readonly reach: number };
  /** All of it is what q8_0 and q4_0 pack: whole blocks of plain attention. */
  readonly packs?: true;
}

/** What sessions need of a decoder besides. */
export interface ModelSizes extends TextSizes {
  /** No output.weight: the embedding is the output matrix too. */
  readonly tiedEmbedding: boolean;
  /** Keys and values: elements that the caches hold for one position, and the product that gives them. */
  readonly cache: CacheSize;
  /** Recurrent states: f32 elements that they hold whatever the context, and the product that gives them. */
  readonly recurrent?: { readonly elements: number; readonly product: string };
}

/** One line of the overview. */
export interface ModelFact {
  readonly label: string;
  readonly value: string | number;
}

/** How one vector is made of the rows of a text's tokens: none keeps them all, rank gives scores. */
export const POOLINGS = ["none", "mean", "cls", "last", "rank"] as const;
export type Pooling = (typeof POOLINGS)[number];

export interface EmbedOptions {
  readonly pooling: Pooling;
  /** Most tokens of a text; memory is planned for it. */
  readonly largestText: number;
}

/** What a file says of the vectors that its model makes. */
export interface EmbedderReading {
  readonly pooling: Pooling;
  /** What `rank` scores, by name; none where the file has no head for it. */
  readonly labels: readonly string[];
}

/** Makes vectors of texts. */
export interface Embedder extends EmbedderReading {
  /** The graph of a whole text: `tokens` i32[T] and `length` i32[] in, `embedding` out. */
  readonly graph: (weights: WeightSource, options: EmbedOptions) => Steps<Graph>;
}

/** What is known of the model of one file, of whichever kind. */
interface ModelReading extends TextSizes {
  /** general.architecture */
  readonly name: string;
  readonly family: string;
  /** "A dense decoder of 16 layers." */
  readonly sentence: string;
  readonly facts: readonly ModelFact[];
  /** What the file asks for and the graph does not do. */
  readonly warnings: readonly string[];
  /** What the graph reads of a file that has these optional tensors: it is built once over a file that has everything. */
  readonly tensors: (isPresent: (tensor: string) => boolean, adapters?: readonly LowRank[]) => readonly TensorSpec[];
  /** True for a tensor that no answer depends on, although the graph does not read it. */
  readonly isBeside: (tensor: string) => boolean;
}

/** The encoder of an encoder-decoder: it reads a whole text once, before the decoder's first step. */
export interface SourceEncoder {
  /** The decoder's first token. */
  readonly start: number;
  /** True for a tensor that no step of the decoder reads. */
  readonly isOwn: (tensor: string) => boolean;
  /**
   * The graph of a whole text: `tokens` i32[T] and `length` i32[] in; for each layer of the decoder the keys and values
   * that it looks at, f32[key heads, T, size], out. The decoder's steps take them as inputs of these names.
   */
  readonly graph: (weights: WeightSource, options: Pick<EmbedOptions, "largestText">) => Steps<Graph>;
}

/** Reads a text step by step and guesses what comes next; some make vectors of whole texts besides. */
export interface DecoderArchitecture extends ModelReading, ModelSizes {
  readonly kind: "decoder";
  readonly embedder: Embedder | undefined;
  /** Of an encoder-decoder, whose steps take besides what the encoder gives and `source_length` i32[]. */
  readonly encoder: SourceEncoder | undefined;
  /**
   * The graph of one step: `tokens` i32[T], `past` i32[] and `logit_rows` i32[R] in, `logits`
   * f32[R, vocabulary] out, and the family's own states.
   */
  readonly graph: (weights: WeightSource, options: ModelOptions) => Steps<Graph>;
}

/** Reads a whole text at once: it has no caches and writes nothing. */
export interface EncoderArchitecture extends ModelReading {
  readonly kind: "encoder";
  readonly embedder: Embedder;
}

/** The model of one file, as its family read it. */
export type Architecture = DecoderArchitecture | EncoderArchitecture;

/** Keys of a header without the architecture's name in front; numbers are u32, f32 where they have a fraction, and big ones u64. */
export type SampleKeys = Readonly<
  Record<
    string,
    number | boolean | string | readonly number[] | readonly boolean[] | readonly string[] | readonly bigint[]
  >
>;

/** A small file of the family: it drives every automatic test, as an op's samples do. */
export interface FamilySample {
  readonly title: string;
  readonly architecture: string;
  readonly keys: SampleKeys;
  /** Tensors with an output matrix of their own. */
  readonly untied?: boolean;
  /** Optional tensors that the file has: those whose name matches. */
  readonly has?: RegExp;
  /** Tensors that decide how the keys are read, with their shapes. */
  readonly marks?: Readonly<Record<string, readonly number[]>>;
  /** Layers behind the last one that guess tokens ahead. */
  readonly drafts?: number;
  /** Tokens of the text that tests of an encoder-decoder let the encoder read. */
  readonly source?: number;
  /** Tensors that such files have and the graph does not read, with their shapes. */
  readonly beside?: Readonly<Record<string, readonly number[]>>;
}

interface Spec<H> {
  readonly name: string;
  readonly samples?: readonly FamilySample[];
  /** Values of `general.architecture` that it answers for. */
  readonly architectures: readonly string[];
  /** Its hyper-parameters from the file's keys; throws for what it cannot build. */
  readonly read: (keys: HyperReader) => H;
  readonly isBeside?: (tensor: string, hyper: H) => boolean;
  readonly sentence: (hyper: H) => string;
  readonly facts: (hyper: H) => readonly ModelFact[];
  readonly warnings?: (hyper: H) => readonly string[];
}

/** How a family makes vectors of whole texts. */
export interface EmbedderSpec<H> {
  /** What the file says of it; undefined for a file that is no embedder. */
  readonly reading: (hyper: H) => EmbedderReading | undefined;
  readonly graph: (hyper: H, weights: WeightSource, options: EmbedOptions) => Steps<Graph>;
}

export interface FamilySpec<H> extends Spec<H> {
  readonly sizes: (hyper: H) => ModelSizes;
  readonly graph: (hyper: H, weights: WeightSource, options: ModelOptions) => Steps<Graph>;
  readonly embedder?: EmbedderSpec<H>;
  readonly encoder?: SourceEncoderSpec<H>;
}

/** What an encoder-decoder reads with. */
interface SourceEncoderSpec<H> {
  readonly start: (hyper: H) => number;
  readonly isOwn: SourceEncoder["isOwn"];
  readonly graph: (hyper: H, weights: WeightSource, options: Pick<EmbedOptions, "largestText">) => Steps<Graph>;
}

export interface EncoderSpec<H> extends Spec<H> {
  readonly sizes: (hyper: H) => TextSizes;
  readonly embedder: Pick<EmbedderSpec<H>, "graph"> & { readonly reading: (hyper: H) => EmbedderReading };
}

/** A family with its hyper-parameters hidden: what the list of families holds. */
export interface Family {
  readonly name: string;
  readonly kind: Architecture["kind"];
  readonly samples: readonly FamilySample[];
  readonly architectures: readonly string[];
  readonly read: (file: GgufFile, name: string) => Architecture;
}

export interface DefinedFamily<H, A extends Architecture = DecoderArchitecture> extends Family {
  readonly hyper: (file: GgufFile, name: string) => H;
  /** The model of these hyper-parameters, without a file. */
  readonly of: (hyper: H, name?: string) => A;
}

const ANY_OPTIONS: ModelOptions = { capacity: 1, cacheType: "f32", largestStep: 1, largestRows: 1 };

/** The tensors that a graph asks for while it is built. */
function tensorsRead(
  build: (weights: WeightSource) => Steps<Graph>,
  isPresent: (tensor: string) => boolean,
  adapters: readonly LowRank[],
): readonly TensorSpec[] {
  const read = new Map<string, TensorSpec>();
  const weights: WeightSource = {
    identity: "",
    has: isPresent,
    adapters,
    tensorType: (name, shape = []) => {
      read.set(name, { name, shape: shape.map((size) => staticDim(size, name)) });
      return tensor("f32", shape);
    },
  };
  finish(build(weights));
  return [...read.values()];
}

/** What a spec says of any model. */
const readingOf = <H>(spec: Spec<H>, hyper: H, name: string): Omit<ModelReading, keyof TextSizes | "tensors"> => ({
  name,
  family: spec.name,
  sentence: spec.sentence(hyper),
  facts: spec.facts(hyper),
  warnings: spec.warnings?.(hyper) ?? [],
  isBeside: (tensor) => spec.isBeside?.(tensor, hyper) ?? false,
});

function embedderOf<H>({ reading, graph }: EmbedderSpec<H>, hyper: H): Embedder | undefined {
  const read = reading(hyper);
  return read && { ...read, graph: (weights, options) => graph(hyper, weights, options) };
}

const encoderOf = <H>({ start, isOwn, graph }: SourceEncoderSpec<H>, hyper: H): SourceEncoder => ({
  start: start(hyper),
  isOwn,
  graph: (weights, options) => graph(hyper, weights, options),
});

/** The largest part of what a graph of whole texts reads: with scores where there is a head for them. */
const anyText = ({ pooling, labels }: EmbedderReading): EmbedOptions => ({
  pooling: labels.length > 0 ? "rank" : pooling,
  largestText: 1,
});

function defined<H, A extends Architecture>(
  kind: A["kind"],
  spec: Spec<H>,
  of: (hyper: H, name: string) => A,
): DefinedFamily<H, A> {
  const hyper = (file: GgufFile, name: string): H => spec.read(new HyperReader(file, name));
  return {
    name: spec.name,
    kind,
    samples: spec.samples ?? [],
    architectures: spec.architectures,
    hyper,
    of: (h, name = spec.name) => of(h, name),
    read: (file, name) => of(hyper(file, name), name),
  };
}

/** A family of decoders. */
export function defineFamily<H>(spec: FamilySpec<H>): DefinedFamily<H> {
  return defined("decoder", spec, (hyper, name): DecoderArchitecture => {
    const embedder = spec.embedder && embedderOf(spec.embedder, hyper);
    const encoder = spec.encoder && encoderOf(spec.encoder, hyper);
    const builds = [
      (weights: WeightSource) => spec.graph(hyper, weights, ANY_OPTIONS),
      ...(embedder === undefined ? [] : [(weights: WeightSource) => embedder.graph(weights, anyText(embedder))]),
      ...(encoder === undefined ? [] : [(weights: WeightSource) => encoder.graph(weights, { largestText: 1 })]),
    ];
    return {
      ...spec.sizes(hyper),
      ...readingOf(spec, hyper, name),
      kind: "decoder",
      embedder,
      encoder,
      tensors: (isPresent, adapters = []) => {
        const read = builds.flatMap((build) => tensorsRead(build, isPresent, adapters));
        return [...new Map(read.map((tensor) => [tensor.name, tensor] as const)).values()];
      },
      graph: (weights, options) => spec.graph(hyper, weights, options),
    };
  });
}

/** A family of encoders. */
export function defineEncoder<H>(spec: EncoderSpec<H>): DefinedFamily<H, EncoderArchitecture> {
  return defined("encoder", spec, (hyper, name): EncoderArchitecture => {
    const embedder: Embedder = {
      ...spec.embedder.reading(hyper),
      graph: (weights, options) => spec.embedder.graph(hyper, weights, options),
    };
    return {
      ...spec.sizes(hyper),
      ...readingOf(spec, hyper, name),
      kind: "encoder",
      embedder,
      tensors: (isPresent, adapters = []) =>
        tensorsRead((weights) => embedder.graph(weights, anyText(embedder)), isPresent, adapters),
    };
  });
}
