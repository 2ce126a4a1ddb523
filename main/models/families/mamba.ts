/** Mamba and Mamba 2: layers of one state space each, with neither attention nor feed-forward network. */
import type { DecoderSizes } from "../decoder.ts";
import { Decoder } from "../decoder.ts";
import { readLayers, readNormEpsilon, vocabularySize } from "../dense.ts";
import type { FamilySample, SampleKeys } from "../family.ts";
import { defineFamily } from "../family.ts";
import type { Mamba1, Mamba2 } from "../mamba.ts";
import { mamba1, mamba1Facts, mamba1Held, mamba2, mamba2Facts, mamba2Held, readMamba1, readMamba2 } from "../mamba.ts";

interface MambaHyper extends DecoderSizes {
  readonly mixer:
    { readonly generation: 1; readonly sizes: Mamba1 } | { readonly generation: 2; readonly sizes: Mamba2 };
}

/** Inner size, state, step's rank or heads, and what else the keys say. */
const sampleOf = (
  architecture: string,
  title: string,
  [layers, width, inner, state, rank]: readonly [number, number, number, number, number],
  keys: SampleKeys,
  more: Partial<FamilySample> = {},
): FamilySample => ({
  title,
  architecture,
  keys: {
    block_count: layers,
    context_length: 256,
    embedding_length: width,
    feed_forward_length: 0,
    "attention.head_count": 0,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "ssm.conv_kernel": 4,
    "ssm.inner_size": inner,
    "ssm.state_size": state,
    "ssm.time_step_rank": rank,
    ...keys,
  },
  ...more,
});

export const mamba = defineFamily<MambaHyper>({
  name: "mamba",
  architectures: ["mamba", "mamba2"],
  read: (keys) => {
    const width = keys.positive("embedding_length");
    return {
      name: keys.name,
      layers: readLayers(keys).layers,
      width,
      vocabulary: vocabularySize(keys, width),
      context: keys.positive("context_length"),
      norm: "rms",
      normEpsilon: readNormEpsilon(keys, "rms"),
      tiedEmbedding: !keys.has("output.weight"),
      mixer:
        keys.name === "mamba2"
          ? { generation: 2, sizes: readMamba2(keys) }
          : { generation: 1, sizes: readMamba1(keys, "file") },
    };
  },
  sizes: (h) => {
    const { generation, sizes } = h.mixer;
    const [elements, product] = generation === 1 ? mamba1Held(sizes) : mamba2Held(sizes);
    return {
      layers: h.layers,
      width: h.width,
      feedForward: 0,
      vocabulary: h.vocabulary,
      context: h.context,
      tiedEmbedding: h.tiedEmbedding,
      cache: { elements: 0, product: "no caches" },
      recurrent: { elements: h.layers * elements, product: `${h.layers} layers × ${product}` },
    };
  },
  sentence: ({ layers }) => `A decoder of ${layers} state spaces.`,
  facts: ({ name, layers, width, context, mixer }) => [
    { label: "architecture", value: name },
    { label: "layers × width", value: `${layers} × ${width}` },
    ...(mixer.generation === 1 ? mamba1Facts(mixer.sizes) : mamba2Facts(mixer.sizes)),
    { label: "context", value: context },
  ],
  *graph(h, weights, options) {
    const d = new Decoder(h, weights, options);
    const x = yield* d.layers(d.embed(), (i, stream) =>
      d.scoped("ssm", () => {
        const place = { d, index: i, block: `blk.${i}.` };
        const input = d.norm(stream, `${place.block}attn_norm`, h.width, "norm");
        const mixed =
          h.mixer.generation === 1 ? mamba1(place, h.mixer.sizes, input) : mamba2(place, h.mixer.sizes, input);
        return d.g.add([stream, mixed], {}, "residual");
      }),
    );
    d.head(x);
    return d.finish();
  },
  samples: [
    sampleOf("mamba", "small", [2, 64, 128, 16, 4], {}, { has: /ssm_(conv1d|dt)\.bias/u }),
    sampleOf(
      "mamba",
      "three layers, a wide state, own output",
      [3, 96, 192, 20, 32],
      {},
      {
        untied: true,
        has: /ssm_(conv1d|dt)\.bias/u,
      },
    ),
    sampleOf(
      "mamba",
      "odd sizes, two taps",
      [2, 36, 72, 5, 3],
      { "ssm.conv_kernel": 2 },
      {
        has: /ssm_(conv1d|dt)\.bias/u,
      },
    ),
    sampleOf(
      "mamba",
      "norms of step, b and c",
      [2, 64, 128, 16, 8],
      { "ssm.dt_b_c_rms": true },
      {
        has: /ssm_(conv1d|dt)\.bias/u,
      },
    ),
    sampleOf("mamba2", "small", [2, 64, 128, 16, 4], { "ssm.group_count": 1 }, { has: /ssm_(conv1d\.bias|norm)/u }),
    sampleOf(
      "mamba2",
      "three layers, groups, own output",
      [3, 96, 192, 32, 6],
      { "ssm.group_count": 2 },
      {
        untied: true,
        has: /ssm_(conv1d\.bias|norm)/u,
      },
    ),
    sampleOf(
      "mamba2",
      "a group for each head, two taps",
      [2, 64, 96, 24, 3],
      { "ssm.group_count": 3, "ssm.conv_kernel": 2 },
      {
        has: /ssm_(conv1d\.bias|norm)/u,
      },
    ),
    sampleOf(
      "mamba2",
      "heads wider than the model",
      [1, 64, 256, 128, 2],
      { "ssm.group_count": 2 },
      {
        has: /ssm_(conv1d\.bias|norm)/u,
      },
    ),
  ],
});
