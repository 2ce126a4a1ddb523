/**
 * Gemma 4: layers with a window and layers without differ in their heads; later layers may read the caches of earlier
 * ones; experts may stand beside the feed-forward network; a token may have an embedding for each layer.
 */
import type { Value } from "../../ir/graph.ts";
import { hostScalar } from "../../ir/hostTensor.ts";
import { activate } from "../activation.ts";
import type { DenseHyper } from "../dense.ts";
import { DENSE, readDense } from "../dense.ts";
import type { DenseLayer } from "../denseBlocks.ts";
import { denseGraph } from "../denseBlocks.ts";
import type { FamilySample, SampleKeys } from "../family.ts";
import { defineFamily } from "../family.ts";
import type { HyperReader } from "../hyperReader.ts";
import { PerLayerEmbeddings } from "../perLayerEmbeddings.ts";
import type { Rope } from "../rope.ts";
import { attendShared, cachesOf, isUnusedKey } from "../sharedCaches.ts";

interface Gemma4Hyper extends DenseHyper {
  readonly cacheOf: (layer: number) => number;
  /** Values of a token's embedding in one layer; 0 without. */
  readonly perLayer: number;
}

function read(keys: HyperReader): Gemma4Hyper {
  if (keys.countOrFlags("attention.sliding_window_pattern") === undefined)
    throw keys.malformed("gemma4.attention.sliding_window_pattern: got nothing, expected true or false for each layer");
  const h = readDense(keys, {
    rope: { pairing: "halves", factors: "rope_freqs.weight" },
    windows: { period: 6, isListed: true, rope: { base: 10_000, isScaled: false } },
    experts: { gating: "softmax", normalise: true, activation: "gelu" },
    layersDiffer: true,
  });
  const { windows, layers, rope, localRope = rope } = h;
  const localSize = keys.evenCount("attention.key_length_swa", h.headDim);
  const values = keys.optionalCount("attention.value_length_swa") ?? localSize;
  if (values !== localSize) throw keys.badKey("attention.value_length_swa", values, `${localSize}, as keys have`);
  const ofLayer = (layer: number): ReturnType<NonNullable<DenseHyper["ofLayer"]>> => ({
    ...h.ofLayer?.(layer),
    ...(windows?.isLocal(layer) === true && { headDim: localSize }),
  });
  const shared = keys.optionalCount("attention.shared_kv_layers") ?? 0;
  if (shared > layers) throw keys.badKey("attention.shared_kv_layers", shared, `at most the ${layers} layers`);
  const logitCap = keys.optionalNumber("final_logit_softcapping") ?? 30;
  return {
    ...h,
    ofLayer,
    // One divisor for each pair of a head, also where a part of it is turned.
    rope: { ...rope, factorsCount: h.headDim / 2 },
    cacheOf: cachesOf(keys, layers - shared, { ...h, ofLayer }),
    localRope: { ...localRope, dims: localDims(keys, localSize, rope), factorsTensor: undefined },
    attentionScale: 1,
    perLayer: keys.optionalCount("embedding_length_per_layer_input") ?? 0,
    scales: { embedding: Math.sqrt(h.width), ...(logitCap !== 0 && { logitCap }) },
  };
}

function localDims(keys: HyperReader, headDim: number, { dims: otherwise }: Rope): number {
  const dims = keys.evenCount("rope.dimension_count_swa", Math.min(otherwise, headDim));
  if (dims > headDim) throw keys.badKey("rope.dimension_count_swa", dims, `at most the ${headDim} of a head`);
  return dims;
}

/** The network; and where the layer has experts, theirs beside it, each result normed. */
function feedForward(layer: DenseLayer, h: Gemma4Hyper, x: Value): Value {
  const { g } = layer;
  const dense = (): Value =>
    layer.denseFeedForward(layer.norm(x, "ffn_norm", "norm"), (gate) => activate(g, gate, "gelu"));
  const { experts } = h;
  if (experts === undefined || !layer.has("ffn_gate_inp.weight")) return dense();
  const beside = layer.scoped("dense", () => layer.norm(dense(), "post_ffw_norm_1"));
  const picked = layer.scoped("mixture", () => {
    const result = layer.experts(layer.norm(x, "pre_ffw_norm_2", "norm"), () => {
      const flat = g.mul([layer.plainNorm(x, "norm"), g.constant(hostScalar("f32", Math.fround(h.width ** -0.5)))]);
      const scaled = g.mul([flat, layer.vector("ffn_gate_inp.scale", h.width)], {}, "scaled");
      return layer.bareLinear(scaled, "ffn_gate_inp", [experts.count, h.width], "logits");
    });
    return layer.norm(result, "post_ffw_norm_2");
  });
  return g.add([beside, picked], {}, "both");
}

const KEYS: SampleKeys = {
  block_count: 5,
  context_length: 256,
  embedding_length: 96,
  feed_forward_length: 64,
  "attention.head_count": 6,
  "attention.head_count_kv": 2,
  "attention.key_length": 32,
  "attention.value_length": 32,
  "attention.key_length_swa": 16,
  "attention.value_length_swa": 16,
  "attention.sliding_window": 16,
  "attention.sliding_window_pattern": [true, true, false, true, false],
  "attention.layer_norm_rms_epsilon": 1e-6,
  "rope.dimension_count": 32,
  "rope.dimension_count_swa": 16,
  "rope.freq_base": 100_000,
  "rope.freq_base_swa": 10_000,
  embedding_length_per_layer_input: 0,
};

const sample = (title: string, keys: SampleKeys, more: Partial<FamilySample> = {}): FamilySample => {
  const all = { ...KEYS, ...keys };
  const size = Number(all["attention.key_length"]);
  return {
    title,
    architecture: "gemma4",
    keys: all,
    has: /attn_v\.weight|layer_output_scale/u,
    ...more,
    marks: { "rope_freqs.weight": [size / 2], ...more.marks },
  };
};

export const gemma4 = defineFamily<Gemma4Hyper>({
  ...DENSE,
  name: "gemma4",
  architectures: ["gemma4"],
  read,
  isBeside: (tensor, h) => isUnusedKey(tensor, h) || DENSE.isBeside?.(tensor, h) === true,
  graph: (h, weights, options) => {
    const embeddings = h.perLayer === 0 ? undefined : new PerLayerEmbeddings(h.perLayer);
    return denseGraph(
      h,
      weights,
      options,
      (layer, x) => {
        const attended = layer.part("attention", () => {
          const result = attendShared(layer, layer.norm(x, "attn_norm", "norm"), h.cacheOf(layer.index));
          return layer.add(x, layer.norm(result, "post_attention_norm"));
        });
        const fed = layer.part("ffn", () =>
          layer.add(attended, layer.norm(feedForward(layer, h, attended), "post_ffw_norm")),
        );
        const more = embeddings === undefined ? fed : layer.add(fed, embeddings.of(layer, fed, h.width));
        if (!layer.has("layer_output_scale.weight")) return more;
        return layer.g.mul([more, layer.vector("layer_output_scale.weight", 1)], {}, "scaled");
      },
      (d, x) => {
        embeddings?.begin(d, x);
        return x;
      },
    );
  },
  samples: [
    sample("two sizes of heads", {}),
    sample("no cap, a part of the heads of a window turned, linear scaling elsewhere", {
      "rope.dimension_count_swa": 8,
      "rope.scaling.type": "linear",
      "rope.scaling.factor": 4,
      final_logit_softcapping: 0,
    }),
    sample("a part of the heads turned where all is seen", {
      "rope.dimension_count": 16,
      final_logit_softcapping: 8,
    }),
    sample(
      "keys as values, key heads of their own in each layer",
      { "attention.head_count_kv": [2, 2, 1, 2, 1], final_logit_softcapping: 6 },
      { has: /blk\.[013]\.attn_v\.weight/u },
    ),
    sample(
      "experts beside the dense part",
      {
        block_count: 3,
        "attention.sliding_window_pattern": [true, false, true],
        expert_count: 8,
        expert_used_count: 2,
        expert_feed_forward_length: 32,
      },
      { has: /attn_v\.weight|layer_output_scale|ffn_gate_inp|gate_up_exps\.weight|down_exps\.scale/u },
    ),
    sample(
      "experts in two matrices, a layer without, shared caches, embeddings of layers",
      {
        "attention.sliding_window_pattern": [true, true, false, true, false],
        "attention.shared_kv_layers": 2,
        "attention.head_count": [6, 4, 6, 2, 8],
        embedding_length_per_layer_input: 16,
        expert_count: 4,
        expert_used_count: 3,
        expert_feed_forward_length: 64,
      },
      { has: /attn_v\.weight|blk\.[1-4]\.ffn_gate_inp/u },
    ),
    sample(
      "shared caches, wider late layers, embeddings of layers",
      {
        block_count: 7,
        "attention.sliding_window_pattern": [true, true, false, true, false, true, false],
        "attention.shared_kv_layers": 2,
        embedding_length_per_layer_input: 32,
        feed_forward_length: [64, 64, 64, 64, 64, 128, 128],
        final_logit_softcapping: 8,
      },
      { untied: true },
    ),
  ],
});
