/**
 * RWKV: layers that mix the tokens in a recurrence, then the channels. Both see the token before beside the token
 * itself, which is a state of one row. A family says how its tokens mix and how its channels do.
 */
import type { Graph, Value, WeightSource } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import type { ModelOptions } from "./blocks.ts";
import type { DecoderSizes } from "./decoder.ts";
import { TOKENS } from "./blocks.ts";
import { Decoder } from "./decoder.ts";
import type { LayerPlace } from "./denseBlocks.ts";
import { readLayers, readNormEpsilon, vocabularySize } from "./dense.ts";
import type { FamilySample, FamilySpec, SampleKeys } from "./family.ts";
import type { HyperReader } from "./hyperReader.ts";
import { scaled } from "./denseBlocks.ts";
import { recur } from "./recurrence.ts";

export interface RwkvHyper extends DecoderSizes {
  readonly heads: number;
  readonly headSize: number;
  readonly feedForward: number;
  /** The stream is halved behind every so many layers; absent where it never is. */
  readonly rescaleEvery?: number;
}

export function readRwkv(keys: HyperReader): RwkvHyper {
  const width = keys.positive("embedding_length");
  const headSize = keys.positive("wkv.head_size");
  if (width % headSize !== 0) throw keys.badKey("wkv.head_size", headSize, `a divisor of ${width}`);
  const { layers } = readLayers(keys);
  const shifts = keys.optionalCount("token_shift_count") ?? 2;
  if (shifts !== 2) throw keys.badKey("token_shift_count", shifts, "2");
  return {
    name: keys.name,
    layers,
    width,
    heads: width / headSize,
    headSize,
    feedForward: Math.max(
      ...keys.positivePerLayer("feed_forward_length", layers, { mayDiffer: false, fallback: undefined }),
    ),
    vocabulary: vocabularySize(keys, width),
    context: keys.positive("context_length"),
    norm: "layer",
    normEpsilon: readNormEpsilon(keys, "layer"),
    tiedEmbedding: false,
  };
}

/** The parts of a family that both generations share. */
export const RWKV: Pick<FamilySpec<RwkvHyper>, "sizes" | "sentence" | "facts"> = {
  sizes: (h) => ({
    layers: h.layers,
    width: h.width,
    feedForward: h.feedForward,
    vocabulary: h.vocabulary,
    context: h.context,
    tiedEmbedding: h.tiedEmbedding,
    cache: { elements: 0, product: "no caches" },
    recurrent: {
      elements: h.layers * h.width * (h.headSize + 2),
      product: `${h.layers} layers × ${h.width} × (${h.headSize} + 2)`,
    },
  }),
  sentence: ({ layers }) => `A decoder of ${layers} layers that mix their tokens in a recurrence.`,
  facts: (h) => [
    { label: "architecture", value: h.name },
    { label: "layers × width", value: `${h.layers} × ${h.width}` },
    { label: "feed-forward", value: h.feedForward },
    { label: "heads of the state", value: `${h.heads} of ${h.headSize} × ${h.headSize}` },
    { label: "context", value: h.context },
  ],
};

/** How a generation mixes: over the normed stream and that of the token before. */
export type Mix = (place: LayerPlace, x: Value, before: Value) => Value;

export function* rwkvGraph(
  h: RwkvHyper,
  weights: WeightSource,
  options: ModelOptions,
  { time, channel }: { readonly time: Mix; readonly channel: Mix },
): Steps<Graph> {
  const d = new Decoder(h, weights, options);
  const rows = d.embed();
  const first = d.scoped("embedding", () => d.norm(rows, "token_embd_norm", h.width, "norm"));
  const x = yield* d.layers(first, (index, stream) => {
    const place = { d, index, block: `blk.${index}.` };
    const mixed = mixedBy(place, "time", "attn_norm", stream, time);
    const both = mixedBy(place, "channel", "attn_norm_2", mixed, channel);
    return scaled(d, both, (index + 1) % (h.rescaleEvery ?? Infinity) === 0 ? 0.5 : 1, "halved");
  });
  d.head(x);
  return d.finish();
}

/** stream + mix(norm(stream), the same of the token before). */
function mixedBy(place: LayerPlace, part: "time" | "channel", norm: string, stream: Value, mix: Mix): Value {
  const { d, index, block } = place;
  return d.scoped(part, () => {
    const x = d.norm(stream, `${block}${norm}`, d.sizes.width, "norm");
    const before = recur(d, `shift.${part}.${index}`, [1, d.sizes.width], "last token", (last) => {
      const all = d.g.concat([last, x], { axis: 0 });
      return [
        d.g.narrow([all], { axis: 0, start: 0, length: TOKENS }, "before"),
        d.g.narrow([all], { axis: 0, start: TOKENS, length: 1 }),
      ];
    });
    return d.g.add([stream, mix(place, x, before)], {}, "residual");
  });
}

/** x moved towards the token before, each channel by its own share. */
export const lerp = ({ d }: LayerPlace, x: Value, apart: Value, share: Value, label: string): Value =>
  d.g.add([x, d.g.mul([apart, share])], {}, label);

export const apart = ({ d }: LayerPlace, x: Value, before: Value): Value => d.g.sub([before, x], {}, "apart");

/** A named row of the layer, [width]. */
export const row = ({ d, block }: LayerPlace, name: string): Value => d.vector(`${block}${name}.weight`, d.sizes.width);

/** The result of the recurrence [T, H, N], normed head by head, as [T, width]. */
export function headNormed({ d, block }: LayerPlace, y: Value, { heads, width }: RwkvHyper): Value {
  const flat = d.g.reshape([y], { shape: [TOKENS, width] });
  const [weight, bias] = [d.vector(`${block}time_mix_ln.weight`, width), d.vector(`${block}time_mix_ln.bias`, width)];
  return d.g.group_norm([flat, weight, bias], { groups: heads, eps: 64e-5 }, "head_norm");
}

/** [T, width] → [T, H, N] */
export const asHeads = ({ d }: LayerPlace, x: Value, { heads, headSize }: RwkvHyper): Value =>
  d.g.reshape([x], { shape: [TOKENS, heads, headSize] });

/** value(relu(key(x))²) */
export function squaredNetwork({ d, block }: LayerPlace, x: Value, { width, feedForward }: RwkvHyper): Value {
  const open = d.g.relu([d.linear(x, `${block}channel_mix_key`, [feedForward, width], "key")]);
  const squares = d.g.mul([open, open], {}, "activation");
  return d.linear(squares, `${block}channel_mix_value`, [width, feedForward], "value");
}

/** Layers, width, size of a head, feed-forward size, and what else the keys say. */
export const rwkvSample = (
  architecture: string,
  title: string,
  [layers, width, headSize, inner]: readonly [number, number, number, number],
  keys: SampleKeys,
  has: RegExp,
): FamilySample => ({
  title,
  architecture,
  keys: {
    block_count: layers,
    context_length: 256,
    embedding_length: width,
    feed_forward_length: inner,
    "attention.head_count": 0,
    "attention.layer_norm_epsilon": 1e-5,
    "wkv.head_size": headSize,
    ...keys,
  },
  untied: true,
  has: new RegExp(`norm(_2)?\\.bias|${has.source}`, "u"),
});
