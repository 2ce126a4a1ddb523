/** The encoder of T5 alone: no rope; scores get a bias by how far a key is away, from a table that all layers share, or each has. */
import type { EncoderHyper } from "../encoder.ts";
import { ENCODER, readEncoder, textLayers } from "../encoder.ts";
import { defineEncoder } from "../family.ts";
import { relativeBias } from "../relativeBias.ts";
import { sampleOf, samplesOf } from "../samples.ts";
import { T5_ENCODER, t5Block } from "./t5.ts";

const STYLE = {
  keys: {
    "attention.layer_norm_rms_epsilon": 1e-6,
    "attention.relative_buckets_count": 32,
    "attention.causal": false,
    pooling_type: 1,
  },
  output: "tied",
  ownKeys: true,
  optional: /ffn_gate\.weight/u,
} as const;

interface T5EncoderHyper extends EncoderHyper {
  readonly buckets: number;
}

export const t5encoder = defineEncoder<T5EncoderHyper>({
  ...ENCODER,
  name: "t5encoder",
  architectures: ["t5encoder"],
  read: (keys) => {
    const h = readEncoder(keys, { rope: { pairing: "halves" } });
    return {
      ...h,
      rope: { ...h.rope, dims: 0 },
      attentionScale: 1,
      names: T5_ENCODER.names,
      buckets: keys.positive("attention.relative_buckets_count"),
    };
  },
  embedder: {
    reading: ({ embedder }) => embedder,
    graph: textLayers<T5EncoderHyper>({
      block: t5Block,
      rules: ({ buckets }) => ({
        sight: "both ways",
        bias: relativeBias(T5_ENCODER.names.block, { buckets, sight: "both ways" }),
        finalNorm: T5_ENCODER.norm,
      }),
    }),
  },
  samples: [
    ...samplesOf("t5encoder", STYLE),
    sampleOf("t5encoder", "a table in each layer, as UMT5 has them", { ...STYLE, always: /attn_rel_b/u, full: true }),
  ],
});
