/** Mixtures of experts with rules of their own: which layers have them, how they are picked, what is shared. */
import type { TensorBytes } from "../tensorBytes.ts";
import { rowsFrom, transposed, withDims } from "../tensorBytes.ts";
import { headSizeOf, needed, refuse, ropeBase } from "./keys.ts";
import type { HfConfig, Keys } from "./keys.ts";
import {
  ATTENTION,
  ENDS,
  EXPERTS,
  GATED,
  MIXTRAL,
  NORMS,
  decoder,
  inLayer,
  rotaryTensors,
  windowLists,
} from "./parts.ts";
import type { HfFamily, TensorNames } from "./parts.ts";

export const SOFTMAX = 1;
export const SIGMOID = 2;

/** Experts behind the first layers, picked by a score with a bias, with experts that all tokens share. */
function routed(config: HfConfig): Keys {
  const { json } = config;
  const groups = json.number("n_group") ?? 1;
  return {
    leading_dense_block_count: json.number("first_k_dense_replace") ?? 0,
    expert_feed_forward_length: needed(config, "moe_intermediate_size"),
    expert_shared_count: json.number("n_shared_experts", "num_shared_experts"),
    expert_weights_norm: json.flag("norm_topk_prob") ?? true,
    expert_weights_scale: json.number("routed_scaling_factor") ?? 1,
    expert_gating_func: SIGMOID,
    ...(groups > 1 && { expert_group_count: groups, expert_group_used_count: needed(config, "topk_group") }),
  };
}

export const SHARED_EXPERTS: TensorNames = {
  "mlp.shared_experts.gate_proj": "ffn_gate_shexp",
  "mlp.shared_experts.up_proj": "ffn_up_shexp",
  "mlp.shared_experts.down_proj": "ffn_down_shexp",
};
const SCORE_BIAS: TensorNames = { "mlp.gate.e_score_correction_bias": { name: "exp_probs_b", end: ".bias" } };

/** Every other row of each expert: gate and up take turns. Of a bias its numbers are the rows. */
const everyOther =
  (which: 0 | 1, isBias: boolean) =>
  (tensor: TensorBytes): TensorBytes => {
    const [columns = 1, rows = 1, ...rest] = isBias ? [1, ...tensor.dims] : tensor.dims;
    const half = rowsFrom(withDims(tensor, [columns, rows, ...rest]), (row) => 2 * row + which, [
      columns,
      rows / 2,
      ...rest,
    ]);
    return isBias ? withDims(half, half.dims.slice(1)) : half;
  };

const GPT_OSS: TensorNames = {
  input_layernorm: "attn_norm",
  post_attention_layernorm: "post_attention_norm",
  "self_attn.sinks": { name: "attn_sinks", end: ".weight" },
  "mlp.router": "ffn_gate_inp",
  "mlp.experts.gate_up_proj_blocks": [
    { name: "ffn_gate_exps", end: ".weight", change: everyOther(0, false) },
    { name: "ffn_up_exps", end: ".weight", change: everyOther(1, false) },
  ],
  // Unpacked to BF16, each expert is stored as [in, out].
  "mlp.experts.gate_up_proj": [
    { name: "ffn_gate_exps", end: ".weight", change: (tensor) => everyOther(0, false)(transposed(tensor)) },
    { name: "ffn_up_exps", end: ".weight", change: (tensor) => everyOther(1, false)(transposed(tensor)) },
  ],
  "mlp.experts.down_proj": { name: "ffn_down_exps", end: ".weight", change: "transpose" },
  "mlp.experts.gate_up_proj_bias": [
    { name: "ffn_gate_exps", end: ".bias", change: everyOther(0, true) },
    { name: "ffn_up_exps", end: ".bias", change: everyOther(1, true) },
  ],
  "mlp.experts.down_proj_blocks": { name: "ffn_down_exps", end: ".weight" },
  "mlp.experts.down_proj_bias": { name: "ffn_down_exps", end: ".bias" },
};

/** A base that grows with the context, where config.json names by how much. */
function raisedBase(config: HfConfig): Keys {
  const alpha =
    config.json.child("rope_scaling").number("alpha") ?? config.json.child("rope_parameters").number("alpha");
  const size = headSizeOf(config);
  const base = ropeBase(config) ?? 10_000;
  return alpha === undefined ? {} : { "rope.freq_base": base * alpha ** (size / (size - 2)) };
}

/** A number, or a list with the same for each layer. */
function everywhere(config: HfConfig, key: string): number | undefined {
  const list = config.json.list(key);
  const [first] = list;
  if (list.some((value) => value !== first)) throw refuse(config, key, "numbers that differ", "one for all layers");
  return typeof first === "number" ? first : config.json.number(key);
}

const hunyuanWidth = (config: HfConfig): number =>
  everywhere(config, "moe_intermediate_size") ?? needed(config, "intermediate_size");

const HUNYUAN_ATTENTION: TensorNames = {
  ...ATTENTION,
  "self_attn.query_layernorm": "attn_q_norm",
  "self_attn.key_layernorm": "attn_k_norm",
};

export const MIXTURES: readonly HfFamily[] = [
  {
    architecture: "gpt-oss",
    names: ["GptOssForCausalLM"],
    keys: (config) => ({
      ...decoder(config),
      "attention.sliding_window": needed(config, "sliding_window"),
      expert_feed_forward_length: needed(config, "intermediate_size"),
    }),
    lists: (config) => windowLists(config, "gpt-oss", 2),
    tensors: { ...ENDS, ...inLayer({ ...ATTENTION, ...GPT_OSS }) },
  },
  {
    architecture: "glm4moe",
    names: ["Glm4MoeForCausalLM"],
    keys: (config) => ({ ...decoder(config), ...routed(config) }),
    tensors: {
      ...ENDS,
      ...inLayer({
        ...{ input_layernorm: "attn_norm", post_attention_layernorm: "post_attention_norm" },
        ...{ ...ATTENTION, ...GATED, ...EXPERTS, ...SHARED_EXPERTS, ...SCORE_BIAS },
      }),
    },
  },
  {
    architecture: "dots1",
    names: ["Dots1ForCausalLM"],
    keys: (config) => ({ ...decoder(config), ...routed(config) }),
    tensors: {
      ...ENDS,
      ...inLayer({ ...NORMS, ...ATTENTION, ...GATED, ...EXPERTS, ...SHARED_EXPERTS, ...SCORE_BIAS }),
    },
    ownOutput: true,
  },
  {
    architecture: "ernie4_5-moe",
    names: ["Ernie4_5_MoeForCausalLM"],
    keys: (config) => ({
      ...decoder(config),
      leading_dense_block_count: needed(config, "moe_layer_start_index"),
      interleave_moe_layer_step: config.json.number("moe_layer_interval") ?? 1,
      expert_count: needed(config, "moe_num_experts"),
      expert_used_count: needed(config, "moe_k"),
      expert_feed_forward_length: needed(config, "moe_intermediate_size"),
      expert_shared_feed_forward_length:
        (config.json.number("moe_num_shared_experts") ?? 0) * needed(config, "moe_intermediate_size"),
      expert_gating_func: SOFTMAX,
    }),
    tensors: {
      ...ENDS,
      ...inLayer({
        ...{ ...NORMS, ...ATTENTION, ...GATED, ...EXPERTS, ...SHARED_EXPERTS },
        "mlp.moe_statics.e_score_correction_bias": {
          name: "exp_probs_b",
          end: ".bias",
          change: (tensor) => withDims(tensor, [tensor.dims[0] ?? 1]),
        },
      }),
    },
    isTied: true,
  },
  {
    architecture: "minimax-m2",
    names: ["MiniMaxM2ForCausalLM"],
    keys: (config) => ({
      ...decoder(config),
      "rope.dimension_count": needed(config, "rotary_dim"),
      expert_feed_forward_length: needed(config, "intermediate_size"),
      expert_gating_func: SIGMOID,
    }),
    tensors: {
      ...ENDS,
      ...inLayer({
        ...{ ...NORMS, ...ATTENTION, ...MIXTRAL },
        "block_sparse_moe.e_score_correction_bias": { name: "exp_probs_b", end: ".bias" },
      }),
    },
  },
  {
    architecture: "bailingmoe2",
    names: ["BailingMoeV2ForCausalLM"],
    keys: (config) => ({
      ...decoder(config),
      ...routed(config),
      expert_shared_feed_forward_length: config.json.number("moe_shared_expert_intermediate_size"),
    }),
    tensors: {
      word_embeddings: "token_embd",
      norm: "output_norm",
      lm_head: "output",
      ...inLayer({
        ...{ ...NORMS, ...GATED, ...EXPERTS, ...SHARED_EXPERTS },
        "attention.query_key_value": "attn_qkv",
        "attention.dense": "attn_output",
        "attention.query_layernorm": "attn_q_norm",
        "attention.key_layernorm": "attn_k_norm",
        "mlp.gate.expert_bias": { name: "exp_probs_b", end: ".bias" },
      }),
    },
  },
  {
    architecture: "hunyuan-dense",
    names: ["HunYuanDenseV1ForCausalLM"],
    keys: (config) => ({ ...decoder(config), ...raisedBase(config) }),
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...HUNYUAN_ATTENTION, ...GATED }) },
    more: rotaryTensors,
    isTied: true,
  },
  {
    architecture: "hunyuan-moe",
    names: ["HunYuanMoEV1ForCausalLM"],
    keys: (config) => ({
      ...decoder(config),
      ...raisedBase(config),
      expert_used_count: everywhere(config, "moe_topk"),
      expert_shared_feed_forward_length:
        (everywhere(config, "num_shared_expert") ?? 1) * needed(config, "intermediate_size"),
      feed_forward_length: hunyuanWidth(config),
      expert_feed_forward_length: hunyuanWidth(config),
    }),
    tensors: {
      ...ENDS,
      ...inLayer({
        ...{ ...NORMS, ...HUNYUAN_ATTENTION, ...EXPERTS },
        "mlp.gate.wg": "ffn_gate_inp",
        "mlp.shared_mlp.gate_proj": "ffn_gate_shexp",
        "mlp.shared_mlp.up_proj": "ffn_up_shexp",
        "mlp.shared_mlp.down_proj": "ffn_down_shexp",
      }),
    },
    more: rotaryTensors,
    isTied: true,
  },
];
