/** Llama as an embedder (llama-embed-nemotron and its kin): the layers of Llama, both ways where the file says so. */
import type { EncoderHyper } from "../encoder.ts";
import { ENCODER, readEncoder, textLayers } from "../encoder.ts";
import { defineEncoder } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";
import type { TextRules } from "../textGraph.ts";
import { llamaBlock } from "./llama.ts";

interface LlamaEmbedHyper extends EncoderHyper {
  readonly sight: TextRules["sight"];
}

const KEYS = { "attention.layer_norm_rms_epsilon": 1.5e-5, pooling_type: 1 };

export const llamaEmbed = defineEncoder<LlamaEmbedHyper>({
  ...ENCODER,
  name: "llamaEmbed",
  architectures: ["llama-embed"],
  read: (keys) => ({
    ...readEncoder(keys, { rope: { pairing: "adjacent", factors: "rope_freqs.weight", hasLongFactors: true } }),
    sight: keys.isFalse("attention.causal") ? "both ways" : "causal",
  }),
  embedder: {
    reading: ({ embedder }) => embedder,
    graph: textLayers<LlamaEmbedHyper>({
      block: llamaBlock,
      rules: ({ sight }) => ({ sight, finalNorm: "output_norm" }),
    }),
  },
  samples: [
    sampleOf("llama-embed", "causal", { keys: KEYS, output: "tied" }),
    ...samplesOf("llama-embed", {
      keys: { ...KEYS, "attention.causal": false },
      output: "tied",
      optional: /attn_(q|k|v|output)\.bias|ffn_(gate|up|down)\.bias/u,
    }),
  ],
});
