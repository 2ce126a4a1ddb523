/**
 * Gemma 3n: several streams of which one runs through the layer; what the others become is guessed before and put right
 * behind it (AltUp). A narrow path beside attention (Laurel), embeddings of each layer, feed-forward networks in which
 * few values stay, and later layers that read the caches of earlier ones.
 */
import type { Value } from "../../ir/graph.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
import type { OpBuilder } from "../../ops/opBuilder.ts";
import { activate } from "../activation.ts";
import type { Decoder } from "../decoder.ts";
import { TOKENS } from "../blocks.ts";
import type { DenseHyper } from "../dense.ts";
import { DENSE, readDense } from "../dense.ts";
import type { DenseLayer } from "../denseBlocks.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { PerLayerEmbeddings } from "../perLayerEmbeddings.ts";
import { sampleOf, samplesOf } from "../samples.ts";
import { attendShared, cachesOf, isUnusedKey } from "../sharedCaches.ts";

/** No key says these. */
const STREAMS = 4;
const LAUREL = 64;
const PER_LAYER = 256;
const LAYERS_WITH_CACHES = 20;
const SPARSE_LAYERS = 10;
/** 95 of 100 values of a normal distribution are below its mean and so many deviations. */
const DEVIATIONS = 1.6448533535003662;

interface Gemma3nHyper extends DenseHyper {
  readonly cacheOf: (layer: number) => number;
}

const number = (g: OpBuilder, value: number): Value => g.constant(hostScalar("f32", Math.fround(value)));
const times = (g: OpBuilder, x: Value, factor: number, label?: string): Value =>
  g.mul([x, number(g, factor)], {}, label);
/** √(mean of squares) of each row: in half floats a sum would overflow. */
const magnitude = (g: OpBuilder, x: Value): Value =>
  g.sqrt([g.reduce([g.mul([x, x])], { kind: "mean", axes: [-1], keepDims: true })]);

/** x through a matrix for each other stream, as long as `like`: [T, 1 or 3, width] to [T, 3, width]. */
function otherStreams(d: Decoder, x: Value, like: Value, name: string): Value {
  const { g } = d;
  const { width } = d.sizes;
  const each = g.expand([g.iota([], { shape: [1, STREAMS - 1], axis: 1 })], { shape: [TOKENS, STREAMS - 1] });
  const made = g.linear_grouped([x, d.weight(`${name}.weight`, [STREAMS - 1, width, width]), each], {}, name);
  return g.div([g.mul([made, magnitude(g, like)]), magnitude(g, made)], {}, "as_long");
}

const streams = (g: OpBuilder, x: Value, start: number, length: number): Value =>
  g.narrow([x], { axis: 1, start, length });

/** [T, width] to [T, streams, width]. */
function split(d: Decoder, x: Value): Value {
  const { g } = d;
  return d.scoped("streams", () => {
    const active = g.reshape([x], { shape: [TOKENS, 1, d.sizes.width] });
    return g.concat([active, otherStreams(d, active, active, "altup_proj")], { axis: 1 }, "streams");
  });
}

/** The mean of the streams. */
function merge(d: Decoder, x: Value): Value {
  const { g } = d;
  return d.scoped("streams", () => {
    const active = streams(g, x, 0, 1);
    const others = otherStreams(d, streams(g, x, 1, STREAMS - 1), active, "altup_unembd_proj");
    return g.reduce([g.concat([active, others], { axis: 1 })], { kind: "mean", axes: [1] }, "merged");
  });
}

/** How much the active stream says of the others: [T, streams]. */
function modalities(layer: DenseLayer<Decoder>, active: Value, { width }: DenseHyper): Value {
  const { g } = layer;
  const normed = times(g, layer.norm(active, "altup_router_norm"), 1 / width);
  return g.tanh([layer.linear(normed, "altup_router", [STREAMS, width], "router")], {}, "modalities");
}

/** x_j + Σ c_ji · x_i */
function predict(layer: DenseLayer<Decoder>, x: Value, h: DenseHyper): Value {
  const { g } = layer;
  const said = modalities(layer, activeOf(g, x, h), h);
  const flat = layer.linear(said, "altup_predict_coef", [STREAMS ** 2, STREAMS], "coefficients");
  const matrix = g.reshape([flat], { shape: [TOKENS, STREAMS, STREAMS] });
  return g.add([x, g.matmul([matrix, x])], {}, "predicted");
}

/** Each stream with its share of what the layer changed in the active one. */
function correct(layer: DenseLayer<Decoder>, predicted: Value, result: Value, h: DenseHyper): Value {
  const { g } = layer;
  const said = modalities(layer, result, h);
  const shares = g.add([layer.linear(said, "altup_correct_coef", [STREAMS, STREAMS], "coefficients"), number(g, 1)]);
  const change = g.sub([result, activeOf(g, predicted, h)], {}, "innovation");
  const spread = g.mul([
    g.reshape([change], { shape: [TOKENS, 1, h.width] }),
    g.reshape([shares], { shape: [TOKENS, STREAMS, 1] }),
  ]);
  return g.add([predicted, spread], {}, "corrected");
}

const activeOf = (g: OpBuilder, x: Value, { width }: DenseHyper): Value =>
  g.reshape([streams(g, x, 0, 1)], { shape: [TOKENS, width] }, "active");

/** x and its narrow path: norm(r(l(x))) + x. */
function laurel(layer: DenseLayer<Decoder>, x: Value, { width }: DenseHyper): Value {
  return layer.scoped("laurel", () => {
    const narrow = layer.linear(x, "laurel_l", [LAUREL, width], "l");
    const wide = layer.linear(narrow, "laurel_r", [width, LAUREL], "r");
    return layer.g.add([layer.norm(wide, "laurel_post_norm"), x], {}, "laurel");
  });
}

/** What is above the row's mean by so many deviations; the rest becomes 0. */
function fewOf(g: OpBuilder, x: Value, size: number): Value {
  const mean = g.reduce([x], { kind: "mean", axes: [-1], keepDims: true }, "mean");
  const apart = g.sub([x, mean]);
  const variance = g.reduce([g.mul([apart, apart])], { kind: "mean", axes: [-1], keepDims: true });
  const deviation = g.sqrt([times(g, variance, size / (size - 1))], {}, "deviation");
  return g.relu([g.sub([x, g.add([mean, times(g, deviation, DEVIATIONS)])])], {}, "few");
}

function feedForward(layer: DenseLayer<Decoder>, x: Value, { feedForward: size }: DenseHyper): Value {
  const { g } = layer;
  const isSparse = layer.index < SPARSE_LAYERS;
  return layer.denseFeedForward(x, (gate) => activate(g, isSparse ? fewOf(g, gate, size) : gate, "gelu"));
}

function block(layer: DenseLayer<Decoder>, h: Gemma3nHyper, embeddings: PerLayerEmbeddings, x: Value): Value {
  const { g } = layer;
  const predicted = layer.scoped("predict", () => predict(layer, x, h));
  const active = activeOf(g, predicted, h);
  const attended = layer.part("attention", () => {
    const input = layer.norm(active, "attn_norm", "norm");
    const beside = laurel(layer, input, h);
    const result = attendShared(layer, input, h.cacheOf(layer.index));
    const sum = layer.add(active, layer.norm(result, "post_attention_norm"));
    return times(g, g.add([sum, beside]), Math.SQRT1_2, "with_laurel");
  });
  const fed = layer.part("ffn", () => {
    const result = feedForward(layer, layer.norm(attended, "ffn_norm", "norm"), h);
    return layer.add(attended, layer.norm(result, "post_ffw_norm"));
  });
  const corrected = layer.scoped("correct", () => correct(layer, predicted, fed, h));
  const scaled = g.mul([activeOf(g, corrected, h), layer.vector("altup_correct_scale.weight", h.width)], {}, "scaled");
  const more = g.reshape([embeddings.of(layer, scaled, h.width)], { shape: [TOKENS, 1, h.width] });
  const others = g.add([streams(g, corrected, 1, STREAMS - 1), more], {}, "others");
  return g.concat([streams(g, corrected, 0, 1), others], { axis: 1 }, "streams");
}

const ALWAYS = /attn_v\.weight/u;
const KEYS = { "attention.layer_norm_rms_epsilon": 1e-6, "attention.sliding_window": 16, "rope.freq_base": 1_000_000 };

/** Such files have keys and values in all layers. */
const unusedKeys = (layer: number): readonly (readonly [string, readonly number[]])[] => [
  [`blk.${layer}.attn_k.weight`, [32, 64]],
  [`blk.${layer}.attn_v.weight`, [32, 64]],
  [`blk.${layer}.attn_k_norm.weight`, [16]],
];

export const gemma3n = defineFamily<Gemma3nHyper>({
  ...DENSE,
  name: "gemma3n",
  architectures: ["gemma3n"],
  read: (keys) => {
    const windows = { period: 5, rope: { base: 10_000, isScaled: false } } as const;
    const h = readDense(keys, { rope: { pairing: "halves" }, windows });
    return {
      ...h,
      attentionScale: 1,
      cacheOf: cachesOf(keys, Math.min(LAYERS_WITH_CACHES, h.layers), h),
      scales: { embedding: Math.sqrt(h.width), logitCap: 30 },
    };
  },
  isBeside: (tensor, h) => isUnusedKey(tensor, h) || DENSE.isBeside?.(tensor, h) === true,
  graph: (h, weights, options) => {
    const embeddings = new PerLayerEmbeddings(PER_LAYER);
    return denseGraph(
      h,
      weights,
      options,
      (layer, x) => block(layer, h, embeddings, x),
      (d, x) => {
        embeddings.begin(d, x);
        return split(d, x);
      },
      merge,
    );
  },
  samples: [
    ...samplesOf("gemma3n", { keys: KEYS, always: ALWAYS }),
    {
      ...sampleOf("gemma3n", "more layers than caches", {
        keys: { ...KEYS, block_count: 22, embedding_length: 64, "attention.head_count": 4 },
        always: ALWAYS,
      }),
      beside: Object.fromEntries([20, 21].flatMap(unusedKeys)),
    },
    sampleOf("gemma3n", "seven layers, one of them sees all", { keys: { ...KEYS, block_count: 7 }, always: ALWAYS }),
  ],
});
