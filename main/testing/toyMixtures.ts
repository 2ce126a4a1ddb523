/** Toy folders of mixtures of experts with rules of their own, and of Hunyuan's dense models, which share their attention. */
import { TIED, TWO, attention, biases, folder, gated, headNorms, manyExperts, norms } from "./toyFolderParts.ts";
import type { Config, Shape, Sizes, ToyFolder } from "./toyFolderParts.ts";

const EXPERTS = 6;
const WIDE = 32;

const routedExperts = ({ width }: Shape, count = EXPERTS): Sizes => ({
  "mlp.gate.weight": [count, width],
  ...manyExperts(count, (at) => gated(width, WIDE, `mlp.${at}`)),
});
const sharedExperts = ({ width }: Shape, inner = WIDE): Sizes => gated(width, inner, "mlp.shared_experts.");

const ROUTED: Config = {
  ...{ num_hidden_layers: 3, first_k_dense_replace: 1, n_routed_experts: EXPERTS, num_experts_per_tok: 2 },
  ...{ moe_intermediate_size: WIDE, n_shared_experts: 1, norm_topk_prob: true, routed_scaling_factor: 1.5 },
  ...{ n_group: 1, topk_group: 1 },
};
/** A dense layer, then layers with experts. */
const afterFirst = (s: Shape, i: number, bias: Sizes, shared = WIDE): Sizes =>
  i === 0 ? gated(s.width, s.inner) : { ...routedExperts(s), ...sharedExperts(s, shared), ...bias };
const SCORES: Sizes = { "mlp.gate.e_score_correction_bias": [EXPERTS] };

const renamed = (toy: ToyFolder, from: string, to: string): ToyFolder => ({
  ...toy,
  tensors: toy.tensors.map(([name, sizes]) => [name.replace(from, to), sizes]),
});

/** A layer behind the last, which guesses ahead. */
const withGuess = (toy: ToyFolder): ToyFolder => ({
  ...toy,
  tensors: [...toy.tensors, ["model.layers.3.eh_proj.weight", [64, 128]], ["model.layers.3.enorm.weight", [64]]],
});

const hunyuanAttention = (s: Shape): Sizes => ({
  ...attention(s),
  "self_attn.query_layernorm.weight": [s.head],
  "self_attn.key_layernorm.weight": [s.head],
});

export const mixtureFolders = (): readonly ToyFolder[] => [
  folder(
    "gpt-oss, experts in MXFP4",
    "GptOssForCausalLM",
    {
      ...{ num_local_experts: 4, num_experts_per_tok: 2, intermediate_size: 64, sliding_window: 16, head_dim: 32 },
      layer_types: ["sliding_attention", "full_attention"],
      rope_theta: 150_000,
      rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 64 },
    },
    (s) => ({
      ...{ ...norms(s, ...TWO), ...attention(s), ...biases(s) },
      "self_attn.o_proj.bias": [s.width],
      "self_attn.sinks": [s.q / s.head],
      "mlp.router.weight": [4, s.width],
      "mlp.router.bias": [4],
      "mlp.experts.gate_up_proj_blocks": [4, 2 * s.inner, s.width / 32, 16],
      "mlp.experts.gate_up_proj_scales": [4, 2 * s.inner, s.width / 32],
      "mlp.experts.gate_up_proj_bias": [4, 2 * s.inner],
      "mlp.experts.down_proj_blocks": [4, s.width, s.inner / 32, 16],
      "mlp.experts.down_proj_scales": [4, s.width, s.inner / 32],
      "mlp.experts.down_proj_bias": [4, s.width],
    }),
  ),
  withGuess(
    folder(
      "glm4moe, a layer that guesses ahead left out",
      "Glm4MoeForCausalLM",
      { ...ROUTED, head_dim: 32, partial_rotary_factor: 0.5 },
      (s, _config, i) => ({
        ...{ ...norms(s, ...TWO), ...attention(s), ...biases(s), ...headNorms(s) },
        ...afterFirst(s, i, SCORES),
      }),
    ),
  ),
  folder(
    "dots1, two shared experts",
    "Dots1ForCausalLM",
    { ...ROUTED, n_shared_experts: 2, num_key_value_heads: 4 },
    (s, _config, i) => ({
      ...{ ...norms(s, ...TWO), ...attention(s), ...headNorms(s) },
      ...afterFirst(s, i, SCORES, 2 * WIDE),
    }),
  ),
  folder(
    "ernie4_5-moe",
    "Ernie4_5_MoeForCausalLM",
    {
      ...{ num_hidden_layers: 3, moe_layer_start_index: 1, moe_layer_interval: 1, moe_num_experts: EXPERTS, moe_k: 2 },
      ...{ moe_intermediate_size: WIDE, moe_num_shared_experts: 1, ...TIED },
    },
    (s, _config, i) => ({
      ...{ ...norms(s, ...TWO), ...attention(s) },
      ...afterFirst(s, i, { "mlp.moe_statics.e_score_correction_bias": [1, EXPERTS] }),
    }),
  ),
  folder(
    "minimax-m2",
    "MiniMaxM2ForCausalLM",
    { num_local_experts: 4, num_experts_per_tok: 2, intermediate_size: WIDE, head_dim: 32, rotary_dim: 16 },
    (s) => ({
      ...{ ...norms(s, ...TWO), ...attention(s) },
      "self_attn.q_norm.weight": [s.q],
      "self_attn.k_norm.weight": [s.kv],
      "block_sparse_moe.gate.weight": [4, s.width],
      "block_sparse_moe.e_score_correction_bias": [4],
      ...manyExperts(4, (at) => ({
        [`block_sparse_moe.${at}w1.weight`]: [s.inner, s.width],
        [`block_sparse_moe.${at}w2.weight`]: [s.width, s.inner],
        [`block_sparse_moe.${at}w3.weight`]: [s.inner, s.width],
      })),
    }),
  ),
  renamed(
    folder(
      "bailingmoe2, experts in groups",
      "BailingMoeV2ForCausalLM",
      {
        ...{ num_hidden_layers: 3, first_k_dense_replace: 1, num_experts: 8, num_experts_per_tok: 3 },
        ...{ moe_intermediate_size: WIDE, num_shared_experts: 1, norm_topk_prob: true, routed_scaling_factor: 2.5 },
        ...{ n_group: 4, topk_group: 2, num_key_value_heads: 4, partial_rotary_factor: 0.5 },
      },
      (s, _config, i) => ({
        ...norms(s, ...TWO),
        "attention.query_key_value.weight": [s.q + 2 * s.kv, s.width],
        "attention.dense.weight": [s.width, s.q],
        "attention.query_layernorm.weight": [s.head],
        "attention.key_layernorm.weight": [s.head],
        ...(i === 0
          ? gated(s.width, s.inner)
          : { ...routedExperts(s, 8), ...sharedExperts(s), "mlp.gate.expert_bias": [8] }),
      }),
    ),
    "model.embed_tokens",
    "model.word_embeddings",
  ),
  folder(
    "hunyuan-dense, a base raised by alpha",
    "HunYuanDenseV1ForCausalLM",
    { head_dim: 32, rope_theta: 10_000, rope_scaling: { type: "dynamic", alpha: 1000 }, ...TIED },
    (s) => ({ ...norms(s, ...TWO), ...hunyuanAttention(s), ...gated(s.width, s.inner) }),
  ),
  folder(
    "hunyuan-moe",
    "HunYuanMoEV1ForCausalLM",
    {
      ...{ num_experts: 5, moe_topk: [2, 2], num_shared_expert: [1, 1], moe_intermediate_size: [WIDE, WIDE] },
      ...{ intermediate_size: WIDE, ...TIED },
    },
    (s) => {
      const { "mlp.gate.weight": gate = [], ...rest } = routedExperts(s, 5);
      return {
        ...{ ...norms(s, ...TWO), ...hunyuanAttention(s), ...rest },
        "mlp.gate.wg.weight": gate,
        ...gated(s.width, WIDE, "mlp.shared_mlp."),
      };
    },
  ),
];
