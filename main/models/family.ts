/**
 * A model family: one file that owns the keys it reads, the tensors it expects, its graph, and the values of
 * `general.architecture` it answers for. Its hyper-parameters are its own type; the rest of the program sees
 * only the `Architecture` made from them.
 */
import type { GgufFile } from "../formats/gguf/file.ts";
import type { Graph, WeightSource } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import type { ModelOptions } from "./blocks.ts";
import { HyperReader } from "./hyperReader.ts";

/** A tensor that the family's graph reads. */
export interface TensorSpec {
  readonly name: string;
  readonly shape: readonly number[];
  /** The graph is complete without it: a bias, for example. */
  readonly optional: boolean;
}

export const needed = (name: string, ...shape: readonly number[]): TensorSpec => ({ name, shape, optional: false });
export const optional = (name: string, ...shape: readonly number[]): TensorSpec => ({ name, shape, optional: true });

/** What sessions, forecasts and views need to know of any model, whatever its family. */
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
  readonly tensors: () => Iterable<TensorSpec>;
  /** True for a tensor that no answer depends on, although the graph does not read it. */
  readonly isBeside: (tensor: string) => boolean;
  /**
   * The graph of one step: `tokens` i32[T], `past` i32[] and `logit_rows` i32[R] in, `logits` f32[R, vocabulary]
   * out, and the family's own states.
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
}

export interface FamilySpec<H> {
  readonly name: string;
  readonly samples?: readonly FamilySample[];
  /** Values of `general.architecture` that it answers for. */
  readonly architectures: readonly string[];
  /** Its hyper-parameters from the file's keys; throws for what it cannot build. */
  readonly read: (keys: HyperReader) => H;
  readonly tensors: (hyper: H) => Iterable<TensorSpec>;
  readonly isBeside?: (tensor: string) => boolean;
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

export function defineFamily<H>(spec: FamilySpec<H>): DefinedFamily<H> {
  const of = (hyper: H, name = spec.name): Architecture => ({
    ...spec.sizes(hyper),
    name,
    family: spec.name,
    sentence: spec.sentence(hyper),
    facts: spec.facts(hyper),
    warnings: spec.warnings?.(hyper) ?? [],
    tensors: () => spec.tensors(hyper),
    isBeside: spec.isBeside ?? (() => false),
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
