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
  /** The norm before the output matrix; output_norm when absent. */
  readonly lastNorm?: string;
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
  /** Absent in a decoder whose layers have one feed-forward network each. */
  readonly experts?: Experts | undefined;
}

export interface DenseStyle {
  readonly rope: RopeStyle;
  readonly norm?: Norm;
  /** Absent in families whose layers all see everything. */
  readonly windows?: WindowRules;
  /** "where keys": layers without key heads do not attend. */
  readonly attention?: "everywhere" | "where keys";
  /** What a mixture of this family is like; absent in families without. */
  readonly experts?: ExpertRules;
}

const EPSILON: Readonly<Record<Norm, string>> = {
  rms: "attention.layer_norm_rms_epsilon",
  layer: "attention.layer_norm_epsilon",
  bare: "attention.layer_norm_epsilon",
};

export function readDense(
  keys: HyperReader,
  { rope, norm = "rms", windows, experts, attention }: DenseStyle,
): DenseHyper {
  const { layers, draftLayers } = readLayers(keys);
  const width = keys.positive("embedding_length");
  // Lists have an entry for the layers that guess ahead, too.
  const listed = layers + draftLayers;
  const some = attention === "where keys" ? keys.sameWhereAny("attention.head_count_kv", listed) : undefined;
  // Layers that do not attend may have 0 heads, and layers that do may have no network of their own.
  const same = (key: string, otherwise?: number): number =>
    some === undefined ? keys.sameInEveryLayer(key, otherwise) : keys.sameWhereAny(key, listed, otherwise).count;
  const heads = same("attention.head_count");
  const kvHeads = some?.count ?? keys.sameInEveryLayer("attention.head_count_kv", heads);
  const headDim = headSize(keys, width, heads);
  // Files whose layers all have experts may leave it out.
  const inExperts = experts === undefined ? undefined : keys.optionalCount("expert_feed_forward_length");
  const feedForward = same("feed_forward_length", inExperts);
  const context = keys.positive("context_length");
  if (keys.isFalse("attention.causal"))
    throw keys.refuse("Its attention looks both ways, as that of an encoder; only causal decoders are supported.");
  const normEpsilon = readNormEpsilon(keys, norm);
  if (heads % kvHeads !== 0)
    throw keys.malformed(`${heads} heads cannot share ${kvHeads} key/value heads: expected a multiple`);
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
    attends: some?.has,
    experts: experts && readExperts(keys, feedForward, experts),
  };
}

export function readNormEpsilon(keys: HyperReader, norm: Norm): number {
  const epsilon = keys.number(EPSILON[norm]);
  if (!(epsilon >= 0) || !Number.isFinite(epsilon)) throw keys.badKey(EPSILON[norm], epsilon, "0 or more");
  return epsilon;
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

function denseFacts(h: DenseHyper): readonly ModelFact[] {
  return [
    { label: "architecture", value: h.name },
    { label: "layers × width", value: `${h.layers} × ${h.width}` },
    { label: "feed-forward", value: h.feedForward },
    ...expertFacts(h.experts),
    { label: "heads, kv heads", value: `${h.heads}, ${h.kvHeads}` },
    { label: "head size", value: h.headDim },
    { label: "rope base", value: h.rope.base },
    { label: "rope scaling", value: ropeScalingText(h.rope) },
    ...windowFacts(h),
    { label: "context", value: h.context },
    ...(h.draftLayers === undefined || h.draftLayers === 0
      ? []
      : [{ label: "drafting layers", value: `${h.draftLayers}, not run` }]),
  ];
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
    cache: {
      elements: attendingLayers(h) * 2 * h.kvHeads * h.headDim,
      product: `${attendingLayers(h)} layers × 2 × ${h.kvHeads} × ${h.headDim}`,
    },
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
