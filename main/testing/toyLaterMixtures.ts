/** Toy folders of mixtures whose attention differs too, of gpt-oss unpacked to BF16, and of Apertus. */
import {
  LLAMA3,
  TIED,
  TWO,
  attention,
  biases,
  folder,
  gated,
  headNorms,
  manyExperts,
  norms,
} from "./toyFolderParts.ts";
import type { Config, Shape, Sizes, ToyFolder } from "./toyFolderParts.ts";

const EXPERTS = 4;
const WIDE = 32;

/** Settings of the text in a group of their own, and its tensors under another name, beside one of the images. */
const withImages = ({ config, tensors, ...toy }: ToyFolder): ToyFolder => {
  const { architectures = [], ...text } = config;
  return {
    ...toy,
    config: { architectures, text_config: text },
    tensors: [
      ...tensors.map(([name, sizes]) => [`language_model.${name}`, sizes] as const),
      ["vision_model.patch_embedding.linear.weight", [8, 8]],
    ],
  };
};

const llama4Network = (s: Shape, isMixture: boolean): Sizes =>
  isMixture
    ? {
        "feed_forward.router.weight": [EXPERTS, s.width],
        "feed_forward.experts.gate_up_proj": [EXPERTS, s.width, 2 * s.inner],
        "feed_forward.experts.down_proj": [EXPERTS, s.inner, s.width],
        ...gated(s.width, s.inner, "feed_forward.shared_expert."),
      }
    : gated(s.width, WIDE, "feed_forward.");

const llama4 = (title: string, step: number, more: Config): ToyFolder =>
  folder(
    title,
    "Llama4ForConditionalGeneration",
    {
      ...{ num_hidden_layers: 4, num_local_experts: EXPERTS, num_experts_per_tok: 1, intermediate_size_mlp: WIDE },
      ...{ interleave_moe_layer_step: step, use_qk_norm: true, attn_temperature_tuning: true, rope_theta: 500_000 },
      ...{ attention_chunk_size: 8192, no_rope_layers: [1, 1, 1, 0], ...more },
    },
    (s, _config, i) => ({
      ...{ ...norms(s, ...TWO), ...attention(s) },
      ...llama4Network(s, (i + 1) % step === 0),
    }),
  );

const COHERE: Config = {
  ...{ num_hidden_layers: 4, first_k_dense_replace: 1, prefix_dense_intermediate_size: 96, intermediate_size: WIDE },
  ...{ num_experts: 5, num_experts_per_tok: 2, sliding_window: 16, logit_scale: 0.25, layer_norm_eps: 1e-5 },
  ...{ prefix_dense_sliding_window_pattern: 1, shared_expert_combination_strategy: "average", ...TIED },
  layer_types: ["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
};
const cohere = (title: string, more: Config): ToyFolder =>
  folder(title, "Cohere2MoeForCausalLM", { ...COHERE, ...more }, (s, config, i) => {
    const shared = Number(config["num_shared_experts"]);
    return {
      ...{ ...norms(s, "input_layernorm"), ...attention(s) },
      ...(i === 0
        ? gated(s.width, 96)
        : {
            "mlp.gate.weight": [5, s.width],
            ...manyExperts(5, (at) => gated(s.width, WIDE, `mlp.${at}`)),
            ...(shared > 0 && gated(s.width, shared * WIDE, "mlp.shared_experts.")),
          }),
    };
  });

const biased = (s: Shape, ...names: readonly string[]): Sizes =>
  Object.fromEntries(names.map((name) => [`${name}.bias`, [s.width]]));

function phimoe(): ToyFolder {
  const toy = folder(
    "phimoe, a long context",
    "PhiMoEForCausalLM",
    {
      ...{ num_local_experts: 5, num_experts_per_tok: 2, original_max_position_embeddings: 32 },
      rope_scaling: {
        ...{ type: "longrope", original_max_position_embeddings: 32, long_mscale: 1.24, short_mscale: 1.24 },
        long_factor: Array.from({ length: 8 }, (_, i) => 1 + i),
        short_factor: Array.from({ length: 8 }, () => 1),
      },
    },
    (s) => ({
      ...{ ...norms(s, ...TWO), ...biased(s, ...TWO), ...attention(s), ...biases(s), ...biased(s, "self_attn.o_proj") },
      "block_sparse_moe.gate.weight": [5, s.width],
      ...manyExperts(5, (at) => ({
        [`block_sparse_moe.${at}w1.weight`]: [s.inner, s.width],
        [`block_sparse_moe.${at}w2.weight`]: [s.width, s.inner],
        [`block_sparse_moe.${at}w3.weight`]: [s.inner, s.width],
      })),
    }),
  );
  return { ...toy, tensors: [...toy.tensors, ["model.norm.bias", [64]], ["lm_head.bias", [304]]] };
}

export const laterFolders = (): readonly ToyFolder[] => [
  withImages(llama4("llama4, experts in each layer", 1, {})),
  withImages(llama4("llama4, dense layers between, divisors of rope", 2, { rope_scaling: LLAMA3, head_dim: 32 })),
  folder(
    "gpt-oss, experts in BF16",
    "GptOssForCausalLM",
    {
      ...{ num_local_experts: 4, num_experts_per_tok: 2, intermediate_size: 96, sliding_window: 16, head_dim: 32 },
      layer_types: ["sliding_attention", "full_attention"],
      rope_theta: 150_000,
    },
    (s) => ({
      ...{ ...norms(s, ...TWO), ...attention(s), ...biases(s), ...biased(s, "self_attn.o_proj") },
      "self_attn.sinks": [s.q / s.head],
      "mlp.router.weight": [4, s.width],
      "mlp.router.bias": [4],
      "mlp.experts.gate_up_proj": [4, s.width, 2 * s.inner],
      "mlp.experts.gate_up_proj_bias": [4, 2 * s.inner],
      "mlp.experts.down_proj": [4, s.inner, s.width],
      "mlp.experts.down_proj_bias": [4, s.width],
    }),
    { dtype: "BF16" },
  ),
  cohere("cohere2moe, shared experts", {
    ...{ num_shared_experts: 2, expert_selection_fn: "sigmoid", norm_topk_prob: true, rms_norm_eps: null },
  }),
  cohere("cohere2moe, picked by a softmax, another norm", { num_shared_experts: 0, expert_selection_fn: "softmax" }),
  phimoe(),
  folder("apertus", "ApertusForCausalLM", { head_dim: 32, rope_scaling: LLAMA3, rope_theta: 500_000 }, (s) => ({
    ...{ ...norms(s, "attention_layernorm", "feedforward_layernorm"), ...attention(s), ...headNorms(s) },
    "mlp.up_proj.weight": [s.inner, s.width],
    "mlp.down_proj.weight": [s.width, s.inner],
    "mlp.act_fn.alpha_p": [1],
    "mlp.act_fn.alpha_n": [1],
    "mlp.act_fn.beta": [],
    "mlp.act_fn.eps": [],
  })),
];
