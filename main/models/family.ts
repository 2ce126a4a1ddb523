/**
 * A model family: one file that owns the keys it reads, the tensors it expects, its graph, and the values of
 * `general.architecture` it answers for. Its hyper-parameters are its own type; the rest of the program sees
 * only the `Architecture` made from them.
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

/** What sessions, forecasts and views need to know of a model of any family. */
export interface ModelSizes {
  readonly layers: number;
  readonly width: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  /** Positions it was trained for. */
  readonly context: number;
  /** No output.weight: the embedding is the output matrix too. */
  readonly tiedEmbedding: boolean;
  /** Keys and values: elements that the caches hold for one position, and the product that gives them. */
  readonly cache: { readonly elements: number; readonly product: string };
}

/** One line of the overview. */
export interface ModelFact {
  readonly label: string;
  readonly value: string | number;
}

/** The model of one file, as its family read it. */
export interface Architecture extends ModelSizes {
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
  /**
   * The graph of one step: `tokens` i32[T], `past` i32[] and `logit_rows` i32[R] in, `logits`
   * f32[R, vocabulary] out, and the family's own states.
   */
  readonly graph: (weights: WeightSource, options: ModelOptions) => Steps<Graph>;
}

/** Keys of a header without the architecture's name in front; numbers are u32, or f32 where they have a fraction. */
export type SampleKeys = Readonly<Record<string, number | boolean | string | readonly number[] | readonly boolean[]>>;

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
}

export interface FamilySpec<H> {
  readonly name: string;
  readonly samples?: readonly FamilySample[];
  /** Values of `general.architecture` that it answers for. */
  readonly architectures: readonly string[];
  /** Its hyper-parameters from the file's keys; throws for what it cannot build. */
  readonly read: (keys: HyperReader) => H;
  readonly isBeside?: (tensor: string, hyper: H) => boolean;
  readonly sizes: (hyper: H) => ModelSizes;
  readonly sentence: (hyper: H) => string;
  readonly facts: (hyper: H) => readonly ModelFact[];
  readonly warnings?: (hyper: H) => readonly string[];
  readonly graph: (hyper: H, weights: WeightSource, options: ModelOptions) => Steps<Graph>;
}

/** A family with its hyper-parameters hidden: what the list of families holds. */
export interface Family {
  readonly name: string;
  readonly samples: readonly FamilySample[];
  readonly architectures: readonly string[];
  readonly read: (file: GgufFile, name: string) => Architecture;
}

export interface DefinedFamily<H> extends Family {
  readonly hyper: (file: GgufFile, name: string) => H;
  /** The model of these hyper-parameters, without a file. */
  readonly of: (hyper: H, name?: string) => Architecture;
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

export function defineFamily<H>(spec: FamilySpec<H>): DefinedFamily<H> {
  const of = (hyper: H, name = spec.name): Architecture => ({
    ...spec.sizes(hyper),
    name,
    family: spec.name,
    sentence: spec.sentence(hyper),
    facts: spec.facts(hyper),
    warnings: spec.warnings?.(hyper) ?? [],
    tensors: (isPresent, adapters = []) =>
      tensorsRead((weights) => spec.graph(hyper, weights, ANY_OPTIONS), isPresent, adapters),
    isBeside: (name) => spec.isBeside?.(name, hyper) ?? false,
    graph: (weights, options) => spec.graph(hyper, weights, options),
  });
  const hyper = (file: GgufFile, name: string): H => spec.read(new HyperReader(file, name));
  return {
    name: spec.name,
    samples: spec.samples ?? [],
    architectures: spec.architectures,
    hyper,
    of,
    read: (file, name) => of(hyper(file, name), name),
  };
}
