/**
 * What dense decoders have in common: their keys with the defaults of llama.cpp, their tensors,
 * what the overview says of them. A family takes it as it is, or adds to it.
 */
import type { Norm, Scales, Temperature } from "./blocks.ts";
import type { ExpertRules, Experts } from "./experts.ts";
import { readExperts } from "./experts.ts";
import type { HyperReader } from "./hyperReader.ts";
import type { FamilySpec, ModelFact, ModelSizes } from "./family.ts";
import type { Rope, RopeStyle } from "./rope.ts";
import { readRope, ropeScalingText } from "./rope.ts";
import type { WindowRules, Windows } from "./windows.ts";
import { localRope, readWindows } from "./windows.ts";

export interface DenseHyper {
  /** general.architecture */
  readonly name: string;
  readonly layers: number;
  readonly width: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly rope: Rope;
  readonly normEpsilon: number;
  /** Of the norms behind attention and feed-forward; normEpsilon when absent. */
  readonly postNormEpsilon?: number;
  readonly vocabulary: number;
  readonly context: number;
  readonly tiedEmbedding: boolean;
  readonly norm: Norm;
  /** Positions of a sliding window that the file names and the graph does not apply; 0 for none. */
  readonly unusedWindow: number;
  readonly windows?: Windows | undefined;
  /** Of the layers with a window, where theirs differs. */
  readonly localRope?: Rope | undefined;
  /** Layers behind the last one that guess tokens ahead; the graph leaves them out. */
  readonly draftLayers?: number;
  /** False for layers that remember in another way than by keys and values; absent where all attend. */
  readonly attends?: ((layer: number) => boolean) | undefined;
  /** The norm before the output matrix; output_norm when absent, none where it is false. */
  readonly lastNorm?: string | false;
  /** Factors on streams and logits. */
  readonly scales?: Scales | undefined;
  /** Of attention scores; 1/√head size when absent. */
  readonly attentionScale?: number | undefined;
  readonly attentionCap?: number | undefined;
  readonly temperature?: Temperature | undefined;
  /** q, k and v stay within ± this. */
  readonly clamp?: number | undefined;
  /** False where a bias of attn_output is not added. */
  readonly outputBias?: boolean;
  /** ffn_up holds the gate in its first half. */
  readonly fusedGate?: boolean;
  /** Names of tensors, where they are not those of decoders. */
  readonly names?: { readonly block: string; readonly output: string };
  /** Absent in a model whose layers have one feed-forward network each. */
  readonly experts?: Experts | undefined;
  /** Sizes of one layer, where they differ from those above, which are the largest. */
  readonly ofLayer?: ((layer: number) => LayerSizes) | undefined;
  /** The layer whose caches a layer reads: its own where absent. */
  readonly cacheOf?: (layer: number) => number;
}

export type LayerSizes = Partial<Pick<DenseHyper, "heads" | "kvHeads" | "headDim" | "feedForward">>;

export interface DenseStyle {
  readonly rope: RopeStyle;
  /** The size of a head of q and k, in families that have keys of their own for it. */
  readonly headDim?: number;
  readonly norm?: Norm;
  /** Absent in families whose layers all see everything. */
  readonly windows?: WindowRules;
  /** "where keys": layers without key heads do not attend. */
  readonly attention?: "everywhere" | "where keys";
  /** What a mixture of this family is like; absent in families without. */
  readonly experts?: ExpertRules;
  /** Heads and inner sizes may differ from layer to layer. */
  readonly layersDiffer?: boolean;
  /** "both ways" in encoders, whatever the file says. */
  readonly sight?: "causal" | "both ways";
}

const EPSILON: Readonly<Record<Norm, string>> = {
  rms: "attention.layer_norm_rms_epsilon",
  layer: "attention.layer_norm_epsilon",
  bare: "attention.layer_norm_epsilon",
};

export function readDense(keys: HyperReader, style: DenseStyle): DenseHyper {
  const { rope, norm = "rms", windows, experts, sight = "causal" } = style;
  const { layers, draftLayers } = readLayers(keys);
  const width = keys.positive("embedding_length");
  const counts = readCounts(keys, layers + draftLayers, style);
  const largest = (key: keyof Counts): number => counts.reduce((most, of) => Math.max(most, of[key]), 1);
  const [heads, kvHeads, feedForward] = [largest("heads"), largest("kvHeads"), largest("feedForward")];
  const headDim = style.headDim ?? headSize(keys, width, heads);
  const context = keys.positive("context_length");
  if (sight === "causal" && keys.isFalse("attention.causal"))
    throw keys.refuse("Its attention looks both ways, as that of an encoder; only causal decoders are supported.");
  const normEpsilon = readNormEpsilon(keys, norm);
  const turn = readRope(keys, rope, { headDim, context });
  return {
    name: keys.name,
    layers,
    width,
    feedForward,
    heads,
    kvHeads,
    headDim,
    rope: turn,
    norm,
    normEpsilon,
    vocabulary: vocabularySize(keys, width),
    context,
    tiedEmbedding: !keys.has("output.weight"),
    unusedWindow: windows === undefined ? Math.max(0, keys.looseNumber("attention.sliding_window") ?? 0) : 0,
    windows: windows && readWindows(keys, layers, windows),
    localRope: windows?.rope && localRope(keys, turn, windows.rope),
    draftLayers,
    attends: style.attention === "where keys" ? (layer) => (counts[layer]?.kvHeads ?? 0) > 0 : undefined,
    experts: experts && readExperts(keys, { layers, feedForward }, experts),
    ofLayer: style.layersDiffer === true ? (layer) => counts[layer] ?? {} : undefined,
  };
}

export function readNormEpsilon(keys: HyperReader, norm: Norm): number {
  const epsilon = keys.number(EPSILON[norm]);
  if (!(epsilon >= 0) || !Number.isFinite(epsilon)) throw keys.badKey(EPSILON[norm], epsilon, "0 or more");
  return epsilon;
}

interface Counts {
  readonly heads: number;
  readonly kvHeads: number;
  readonly feedForward: number;
}

/** Heads and inner sizes of each layer: 0 only where layers may go without. */
function readCounts(
  keys: HyperReader,
  layers: number,
  { attention, layersDiffer: mayDiffer = false, experts }: DenseStyle,
): readonly Counts[] {
  const each = (key: string, fallback?: number | readonly number[]): readonly number[] => {
    if (attention !== "where keys") return keys.positivePerLayer(key, layers, { mayDiffer, fallback });
    const { count, has } = keys.sameWhereAny(key, layers, fallback);
    return Array.from({ length: layers }, (_, layer) => (has(layer) ? count : 0));
  };
  const heads = each("attention.head_count");
  const kvHeads = each("attention.head_count_kv", heads);
  // Files whose layers all have experts may leave it out.
  const inExperts = experts === undefined ? undefined : keys.optionalCount("expert_feed_forward_length");
  const feedForward = each("feed_forward_length", inExperts);
  return heads.map((count, i): Counts => {
    if (count > 65_536) throw keys.badKey("attention.head_count", count, "at most 65536");
    const shared = kvHeads[i] ?? count;
    if (shared > 0 && count % shared !== 0)
      throw keys.malformed(`${count} heads cannot share ${shared} key/value heads: expected a multiple`);
    return { heads: count, kvHeads: shared, feedForward: feedForward[i] ?? 1 };
  });
}

/** Layers of the decoder itself: the file counts those that guess tokens ahead among them. */
export function readLayers(keys: HyperReader): { layers: number; draftLayers: number } {
  const all = keys.positive("block_count");
  if (all > 10_000) throw keys.badKey("block_count", all, "at most 10000");
  const draftLayers = keys.optionalCount("nextn_predict_layers") ?? 0;
  if (draftLayers >= all) throw keys.badKey("nextn_predict_layers", draftLayers, `fewer than the ${all} layers`);
  return { layers: all - draftLayers, draftLayers };
}

/** Rows of the embedding; the vocabulary, where there is one, must have as many tokens. */
export function vocabularySize(keys: HyperReader, width: number): number {
  const embedding = keys.file.requireTensor("token_embd.weight");
  const [vocabulary, columns] = embedding.shape;
  if (vocabulary === undefined || columns !== width || embedding.shape.length !== 2)
    throw keys.malformed(`token_embd.weight is [${embedding.shape.join(", ")}]: expected [vocabulary, ${width}]`);
  const tokens = keys.file.metadata.get("tokenizer.ggml.tokens");
  if (tokens?.kind === "strings" && tokens.strings.length !== vocabulary)
    throw keys.malformed(
      `tokenizer.ggml.tokens has ${tokens.strings.length} tokens: expected ${vocabulary}, one for each row of token_embd.weight`,
    );
  return vocabulary;
}

function headSize(keys: HyperReader, width: number, heads: number): number {
  const given = keys.optionalCount("attention.key_length");
  const headDim = given ?? width / heads;
  if (!Number.isInteger(headDim) || headDim <= 0 || headDim % 2 !== 0)
    throw keys.malformed(`the size of a head: got ${headDim}, expected an even whole number`);
  const values = keys.optionalCount("attention.value_length") ?? given ?? headDim;
  if (values !== headDim)
    throw keys.refuse(
      `Its keys have ${headDim} dimensions per head and its values ${values}; only equal sizes are supported.`,
    );
  return headDim;
}

/** Sizes of a decoder whose other layers hold so many elements each. */
export function mixedSizes(
  h: DenseHyper,
  elements: number,
  product: string,
  others = h.layers - attendingLayers(h),
): ModelSizes {
  return { ...DENSE.sizes(h), recurrent: { elements: others * elements, product: `${others} layers × ${product}` } };
}

/** Of decoders with layers that do not attend: `others` says what those have. */
export const mixedSentence = (h: DenseHyper, others: string): string =>
  `${DENSE.sentence(h).slice(0, -1)}; ${attendingLayers(h)} attend, ${h.layers - attendingLayers(h)} have ${others}.`;

export function denseFacts(h: DenseHyper): readonly ModelFact[] {
  return [
    { label: "architecture", value: h.name },
    { label: "layers × width", value: `${h.layers} × ${h.width}` },
    { label: "feed-forward", value: rangeOf(h, (of) => of.feedForward) },
    ...expertFacts(h.experts),
    { label: "heads, kv heads", value: `${rangeOf(h, (of) => of.heads)}, ${rangeOf(h, (of) => of.kvHeads)}` },
    { label: "head size", value: rangeOf(h, (of) => of.headDim) },
    ...(h.rope.dims === 0
      ? []
      : [
          { label: "rope base", value: h.rope.base },
          { label: "rope scaling", value: ropeScalingText(h.rope) },
        ]),
    ...windowFacts(h),
    { label: "context", value: h.context },
    ...(h.draftLayers === undefined || h.draftLayers === 0
      ? []
      : [{ label: "drafting layers", value: `${h.draftLayers}, not run` }]),
  ];
}

/** What the caches of the layers that have them hold for one position. */
function cacheSize(h: DenseHyper): ModelSizes["cache"] {
  const { windows } = h;
  const own = Array.from({ length: h.layers }, (_, layer) => layer).filter(
    (layer) => (h.cacheOf?.(layer) ?? layer) === layer && h.attends?.(layer) !== false,
  );
  const local = windows && heldBy(h, own.filter(windows.isLocal));
  const packs = own.every((layer) => ({ ...h, ...h.ofLayer?.(layer) }).headDim % 32 === 0);
  return {
    ...heldBy(h, own),
    // Those of a chunk see as many before their own as a window of its size.
    ...(windows && local && local.elements > 0 && { local: { ...local, reach: windows.size - 1 } }),
    ...(packs && { packs }),
  };
}

/** Elements of these layers for one position; layers of one size together. */
function heldBy(h: DenseHyper, layers: readonly number[]): Pick<ModelSizes["cache"], "elements" | "product"> {
  const layersOf = new Map<string, { readonly elements: number; count: number }>();
  for (const layer of layers) {
    const { kvHeads, headDim } = { ...h, ...h.ofLayer?.(layer) };
    const size = `2 × ${kvHeads} × ${headDim}`;
    const alike = layersOf.get(size) ?? { elements: 2 * kvHeads * headDim, count: 0 };
    alike.count++;
    layersOf.set(size, alike);
  }
  const parts = [...layersOf];
  return {
    elements: parts.reduce((sum, [, { elements, count }]) => sum + elements * count, 0),
    product: parts.map(([size, { count }]) => `${count} ${count === 1 ? "layer" : "layers"} × ${size}`).join(" + "),
  };
}

/** "8", or "4 to 8" where layers differ. */
function rangeOf(h: DenseHyper, size: (of: Required<LayerSizes>) => number): string | number {
  const all = Array.from({ length: h.layers }, (_, layer) => size({ ...h, ...h.ofLayer?.(layer) }));
  const [least, most] = all.reduce(([a, b], n) => [Math.min(a, n), Math.max(b, n)], [Infinity, 0]);
  return least === most ? most : `${least} to ${most}`;
}

function windowFacts({ windows, layers }: DenseHyper): readonly ModelFact[] {
  if (windows === undefined) return [];
  const local = Array.from({ length: layers }, (_, i) => windows.isLocal(i)).filter(Boolean).length;
  return [{ label: "window", value: `${windows.size} positions in ${local} of ${layers} layers` }];
}

function expertFacts(experts: Experts | undefined): readonly ModelFact[] {
  if (experts === undefined) return [];
  const shared = experts.shared === undefined ? "" : `, shared ${experts.shared.width}`;
  return [{ label: "experts", value: `${experts.used} of ${experts.count}, ${experts.width} wide${shared}` }];
}

/** Layers that have caches. */
export const attendingLayers = ({ layers, attends }: DenseHyper): number =>
  attends === undefined ? layers : Array.from({ length: layers }, (_, i) => attends(i)).filter(Boolean).length;

/** The layer that a tensor belongs to; -1 outside of layers. */
const blockOf = (tensor: string): number => Number(/^blk\.(\d+)\./u.exec(tensor)?.[1] ?? -1);

/** The parts of a family that every dense decoder shares. */
export const DENSE: Pick<FamilySpec<DenseHyper>, "sizes" | "sentence" | "facts" | "warnings" | "isBeside"> = {
  sizes: (h) => ({
    layers: h.layers,
    width: h.width,
    feedForward: h.feedForward,
    vocabulary: h.vocabulary,
    context: h.context,
    tiedEmbedding: h.tiedEmbedding,
    cache: cacheSize(h),
  }),
  sentence: ({ layers, experts }) =>
    experts === undefined
      ? `A dense decoder of ${layers} layers.`
      : `A decoder of ${layers} layers, ${experts.used} of ${experts.count} experts in each.`,
  facts: denseFacts,
  warnings: ({ unusedWindow }) =>
    unusedWindow === 0
      ? []
      : [
          `The file names a sliding window of ${unusedWindow} positions, which is not applied: attention sees everything.`,
        ],
  // The logits depend neither on a classifier's head nor on layers that guess ahead.
  isBeside: (tensor, { layers, draftLayers = 0 }) => {
    const block = blockOf(tensor);
    return tensor.startsWith("cls.") || (block >= layers && block < layers + draftLayers);
  },
};
