/** Toy folders of LFM2, dense and with experts. */
import { TIED, attention, folder, manyExperts, norms } from "./toyFolderParts.ts";
import type { Config, Shape, Sizes, ToyFolder } from "./toyFolderParts.ts";

const network = ({ width }: Shape, inner: number, at = "feed_forward."): Sizes => ({
  [`${at}w1.weight`]: [inner, width],
  [`${at}w2.weight`]: [width, inner],
  [`${at}w3.weight`]: [inner, width],
});

function mixer(s: Shape, isConvolution: boolean, taps: number): Sizes {
  if (isConvolution)
    return {
      "conv.conv.weight": [s.width, 1, taps],
      "conv.in_proj.weight": [3 * s.width, s.width],
      "conv.out_proj.weight": [s.width, s.width],
    };
  const { "self_attn.o_proj.weight": output = [], ...rest } = attention(s);
  return {
    ...rest,
    "self_attn.out_proj.weight": output,
    "self_attn.q_layernorm.weight": [s.head],
    "self_attn.k_layernorm.weight": [s.head],
  };
}

const lfm2 = (title: string, kind: string, more: Config, layer: (s: Shape, index: number) => Sizes): ToyFolder => {
  const toy = folder(
    title,
    kind,
    { rms_norm_eps: null, norm_eps: 1e-5, conv_bias: false, rope_theta: 1_000_000, ...TIED, ...more },
    (s, config, i) => ({
      ...norms(s, "operator_norm", "ffn_norm"),
      ...mixer(s, (config["layer_types"] as readonly string[])[i] === "conv", Number(config["conv_L_cache"])),
      ...layer(s, i),
    }),
  );
  return {
    ...toy,
    tensors: toy.tensors.map(([name, sizes]) => [name.replace("model.norm.", "model.embedding_norm."), sizes]),
  };
};

export const convolutionFolders = (): readonly ToyFolder[] => [
  lfm2(
    "lfm2",
    "Lfm2ForCausalLM",
    {
      ...{ num_hidden_layers: 3, layer_types: ["conv", "full_attention", "conv"], conv_L_cache: 3 },
      // Two thirds of it, up to a multiple: 96.
      ...{ intermediate_size: 130, block_auto_adjust_ff_dim: true, block_multiple_of: 32 },
    },
    (s) => network(s, 96),
  ),
  lfm2(
    "lfm2moe, four taps",
    "Lfm2MoeForCausalLM",
    {
      ...{ num_hidden_layers: 3, layer_types: ["conv", "full_attention", "conv"], conv_L_cache: 4 },
      ...{ num_experts: 5, num_experts_per_tok: 2, moe_intermediate_size: 32, num_dense_layers: 1 },
      ...{ norm_topk_prob: true, routed_scaling_factor: 1, use_expert_bias: true },
    },
    (s, i) =>
      i === 0
        ? network(s, s.inner)
        : {
            "feed_forward.gate.weight": [5, s.width],
            "feed_forward.expert_bias": [5],
            ...manyExperts(5, (at) => network(s, 32, `feed_forward.${at}`)),
          },
  ),
];
