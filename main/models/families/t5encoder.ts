/** The encoder of T5 alone: no rope; scores get a bias by how far a key is away, from a table that all layers share. */
import type { Value } from "../../ir/graph.ts";
import type { DenseLayer } from "../denseBlocks.ts";
import type { EncoderHyper } from "../encoder.ts";
import { ENCODER, readEncoder, textLayers } from "../encoder.ts";
import { defineEncoder } from "../family.ts";
import { relativeBias } from "../relativeBias.ts";
import { samplesOf } from "../samples.ts";

interface T5EncoderHyper extends EncoderHyper {
  readonly buckets: number;
}

/** A gate with gelu, or relu without one. */
const block = (layer: DenseLayer, x: Value): Value =>
  layer.preNorm(
    x,
    (input) => layer.attend(layer.heads(input)),
    (input) =>
      layer.has("ffn_gate.weight") ? layer.gatedFeedForward(input, "gelu") : layer.feedForward(input, "relu"),
  );

const TABLE = "enc.blk.0.attn_rel_b.weight";

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
      names: { block: "enc.blk", output: "attn_o" },
      buckets: keys.positive("attention.relative_buckets_count"),
    };
  },
  embedder: {
    reading: ({ embedder }) => embedder,
    graph: textLayers<T5EncoderHyper>({
      block,
      rules: ({ buckets }) => ({
        sight: "both ways",
        bias: relativeBias(TABLE, { buckets, sight: "both ways" }),
        finalNorm: "enc.output_norm",
      }),
    }),
  },
  samples: samplesOf("t5encoder", {
    keys: {
      "attention.layer_norm_rms_epsilon": 1e-6,
      "attention.relative_buckets_count": 32,
      "attention.causal": false,
      pooling_type: 1,
    },
    output: "tied",
    ownKeys: true,
    optional: /ffn_gate\.weight/u,
  }),
});
