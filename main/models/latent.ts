/**
 * Multi-head latent attention: keys and values are made from one short vector per position, the latent,
 * and from a part that turns and that all heads share. Files with `attn_k_b` and `attn_v_b` keep the
 * latent itself: queries are taken into its space, so that all heads read one cache whose keys are the
 * values too. Older files have `attn_kv_b` and keep the keys and values of each head.
 */
import type { Value } from "../ir/graph.ts";
import type { Decoder } from "./decoder.ts";
import { TOKENS } from "./blocks.ts";
import type { DenseHyper, DenseStyle } from "./dense.ts";
import { DENSE, attendingLayers, denseFacts, readDense } from "./dense.ts";
import type { DenseLayer } from "./denseBlocks.ts";
import type { FamilySpec } from "./family.ts";
import type { HyperReader } from "./hyperReader.ts";
import { two } from "./parts.ts";

export interface Latent {
  /** The inner size of the two products that make queries; 0 where one matrix makes them. */
  readonly queryRank: number;
  /** Numbers of the latent. */
  readonly rank: number;
  /** Dimensions of a query that do not turn. */
  readonly still: number;
  /** Dimensions whose key all heads share; they turn, except in models without rope. */
  readonly turning: number;
  readonly valueDim: number;
  /** The cache holds latents, not keys and values. */
  readonly isAbsorbed: boolean;
}

export interface LatentHyper extends DenseHyper {
  readonly latent: Latent;
}

export interface LatentRules extends Omit<DenseStyle, "headDim"> {
  /** "file": where attention.q_lora_rank is not 0. */
  readonly queryRank: "none" | "file";
  /** The family has files that keep the latent. */
  readonly canAbsorb: boolean;
}

export function readLatent(keys: HyperReader, { queryRank, canAbsorb, ...style }: LatentRules): LatentHyper {
  const own = canAbsorb ? (keys.optionalCount("attention.key_length_mla") ?? 0) : 0;
  const ownValue = canAbsorb ? (keys.optionalCount("attention.value_length_mla") ?? 0) : 0;
  const isAbsorbed = own !== 0 && ownValue !== 0;
  const headDim = isAbsorbed ? own : keys.positive("attention.key_length");
  const valueDim = isAbsorbed ? ownValue : (keys.optionalCount("attention.value_length") ?? headDim);
  const turning = keys.positive("rope.dimension_count");
  if (turning >= headDim) throw keys.badKey("rope.dimension_count", turning, `less than the ${headDim} of a head`);
  const h = readDense(keys, { ...style, headDim });
  const wantedKeys = isAbsorbed ? 1 : h.heads;
  if (h.kvHeads !== wantedKeys) throw keys.badKey("attention.head_count_kv", h.kvHeads, `${wantedKeys}`);
  return {
    ...h,
    latent: {
      queryRank: queryRank === "file" ? (keys.optionalCount("attention.q_lora_rank") ?? 0) : 0,
      rank: keys.positive("attention.kv_lora_rank"),
      still: headDim - turning,
      turning,
      valueDim,
      isAbsorbed,
    },
  };
}

/**
 * Yarn's magnitude: one part stays with sine and cosine, the other is on the scores, for turned and still parts
 * alike. A file's own number is "said"; "on scores" where it leaves sine and cosine as they are, "unsaid" where the
 * family has none.
 */
export function yarnMagnitudes(
  keys: HyperReader,
  h: LatentHyper,
  own: "said" | "on scores" | "unsaid",
): Pick<LatentHyper, "rope" | "attentionScale"> {
  const { scaling } = h.rope;
  const given = keys.optionalNumber("rope.scaling.attn_factor") ?? 1;
  // Converters write a tenth of the model's own number.
  const log = own === "unsaid" ? 0 : (keys.optionalNumber("rope.scaling.yarn_log_multiplier") ?? 0) / 0.1;
  const factor = scaling.kind === "none" ? 1 : scaling.factor;
  const grown = (by: number): number => 1 + 0.1 * by * Math.log(factor);
  const isOwn = own === "on scores" && log !== 0;
  const turned = scaling.kind !== "yarn" || factor <= 1 || isOwn ? 1 : grown(1) / grown(log);
  const whole = given * (scaling.kind === "yarn" ? turned : grown(1)) * grown(log);
  return {
    rope: { ...h.rope, attentionFactor: given * turned },
    attentionScale: (whole * whole) / Math.sqrt(h.headDim),
  };
}

/** Elements of the caches for one position of one layer, and the product that gives them. */
function cacheOf({ heads, headDim, latent }: LatentHyper): { elements: number; product: string } {
  const { rank, turning, valueDim, isAbsorbed } = latent;
  return isAbsorbed
    ? { elements: rank + turning, product: `(${rank} + ${turning})` }
    : { elements: heads * (headDim + valueDim), product: `${heads} × (${headDim} + ${valueDim})` };
}

/** DENSE with the sizes and facts of latent attention. */
export const LATENT: Pick<FamilySpec<LatentHyper>, keyof typeof DENSE> = {
  ...DENSE,
  sizes: (h) => {
    const { elements, product } = cacheOf(h);
    const layers = attendingLayers(h);
    return {
      ...DENSE.sizes(h),
      cache: { elements: layers * elements, product: `${layers} ${layers === 1 ? "layer" : "layers"} × ${product}` },
    };
  },
  facts: (h) => {
    const { queryRank, rank, turning, valueDim, isAbsorbed } = h.latent;
    return [
      ...denseFacts(h),
      { label: "turned of a head", value: turning },
      { label: "value size", value: valueDim },
      ...(queryRank === 0 ? [] : [{ label: "query rank", value: queryRank }]),
      { label: "latent", value: `${rank}, ${isAbsorbed ? "kept as the cache" : "keys and values are kept"}` },
    ];
  },
};

/** What a layer sees, [T, capacity], to be added to its scores: from its rows and from what its queries are made of. */
type Sight = (input: Value, queryLatent: Value) => Value;

/** Attention over normed rows, projected to the width; everything before a token is seen, or what `sight` leaves. */
export function latentAttention(
  d: Decoder,
  layer: DenseLayer<Decoder>,
  h: LatentHyper,
  input: Value,
  sight?: Sight,
): Value {
  const { g } = d;
  const { rank, still, turning, isAbsorbed } = h.latent;
  const name = (tensor: string): string => `blk.${layer.index}.${tensor}`;
  const fromLatent = h.latent.queryRank === 0 ? undefined : queryLatent(d, layer, h, input);
  const [qStill, qTurning] = two(d.g, queries(d, layer, h, fromLatent ?? input), [still, turning], "q_parts");
  const made = d.linear(input, name("attn_kv_a_mqa"), [rank + turning, h.width], "latent_and_key");
  const [raw, keyPart] = two(d.g, made, [rank, turning], "latent_parts");
  const latent = d.norm(raw, name("attn_kv_a_norm"), rank, "latent");
  const turned = (x: Value, role: "q" | "k"): Value => (h.rope.dims === 0 ? x : layer.rope(x, role));
  const qTurned = turned(qTurning, "q");
  const kTurned = turned(g.reshape([keyPart], { shape: [TOKENS, 1, turning] }), "k");
  return layer.output(
    isAbsorbed
      ? overLatents(d, layer, h, { qStill, qTurned, latent, kTurned }, sight && sight(input, fromLatent ?? input))
      : overHeads(d, layer, h, { qStill, qTurned, latent, kTurned }),
  );
}

/** What both ways of attention start from. */
interface Made {
  /** [T, heads, still] */
  readonly qStill: Value;
  /** [T, heads, turning] */
  readonly qTurned: Value;
  /** [T, rank] */
  readonly latent: Value;
  /** [T, 1, turning], for all heads */
  readonly kTurned: Value;
}

/** What queries are made of where two matrices make them: [T, query rank], normed. */
function queryLatent(
  d: Decoder,
  { index }: DenseLayer,
  { latent: { queryRank }, width }: LatentHyper,
  input: Value,
): Value {
  const made = d.linear(input, `blk.${index}.attn_q_a`, [queryRank, width], "q_a");
  return d.norm(made, `blk.${index}.attn_q_a_norm`, queryRank, "q_a_norm");
}

/** [T, heads, headDim], from the rows, or from what the first of two matrices made of them. */
function queries(d: Decoder, { index }: DenseLayer, h: LatentHyper, x: Value): Value {
  const { queryRank } = h.latent;
  const inner = h.heads * h.headDim;
  const flat =
    queryRank === 0
      ? d.linear(x, `blk.${index}.attn_q`, [inner, h.width], "q")
      : d.linear(x, `blk.${index}.attn_q_b`, [inner, queryRank], "q");
  return d.g.reshape([flat], { shape: [TOKENS, h.heads, h.headDim] }, "q_heads");
}

/** One key head over the latents; each head's own matrix takes its query in, and its result out. */
function overLatents(
  d: Decoder,
  layer: DenseLayer<Decoder>,
  h: LatentHyper,
  made: Made,
  bias: Value | undefined,
): Value {
  const { g } = d;
  const { rank, still, valueDim } = h.latent;
  const name = (tensor: string): string => `blk.${layer.index}.${tensor}`;
  const taken = d.linearEach(made.qStill, name("attn_k_b"), [h.heads, rank, still], "q_taken_in");
  const key = g.reshape([made.latent], { shape: [TOKENS, 1, rank] });
  const heads = layer.warmed({
    q: g.concat([taken, made.qTurned], { axis: 2 }, "q_over_latents"),
    k: g.concat([key, made.kTurned], { axis: 2 }, "latent_key"),
  });
  const mixed = bias === undefined ? layer.mixed(heads) : layer.mixedBiased(heads, bias);
  const seen = g.narrow([mixed], { axis: 2, start: 0, length: rank }, "seen_latent");
  return d.linearEach(seen, name("attn_v_b"), [h.heads, valueDim, rank], "values");
}

/** Keys and values of each head, made from the latent. */
function overHeads(d: Decoder, layer: DenseLayer, h: LatentHyper, made: Made): Value {
  const { g } = d;
  const { heads } = h;
  const { rank, still, turning, valueDim } = h.latent;
  const flat = d.linear(made.latent, `blk.${layer.index}.attn_kv_b`, [heads * (still + valueDim), rank], "kv");
  const each = g.reshape([flat], { shape: [TOKENS, heads, still + valueDim] }, "kv_heads");
  const [kStill, v] = two(d.g, each, [still, valueDim], "kv_parts");
  const kTurned = g.expand([made.kTurned], { shape: [TOKENS, heads, turning] });
  return layer.mixed(
    layer.warmed({
      q: g.concat([made.qStill, made.qTurned], { axis: 2 }, "q_whole"),
      k: g.concat([kStill, kTurned], { axis: 2 }, "k_whole"),
      v,
    }),
  );
}
