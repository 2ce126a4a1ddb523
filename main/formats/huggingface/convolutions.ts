/** LFM2: layers with a short convolution beside layers that attend; the last norm is called embedding_norm. */
import { numbersEntry } from "../gguf/encode.ts";
import type { MetadataEntry } from "../gguf/values.ts";
import { expect, kvHeadsOf, layersOf, needed, refuse } from "./keys.ts";
import type { HfConfig, Keys } from "./keys.ts";
import { SIGMOID } from "./mixtures.ts";
import { ATTENTION, ENDS, decoder, inLayer } from "./parts.ts";
import type { HfFamily, TensorNames } from "./parts.ts";

const LAYERS: TensorNames = {
  ...ATTENTION,
  operator_norm: "attn_norm",
  ffn_norm: "ffn_norm",
  "self_attn.out_proj": "attn_output",
  "self_attn.q_layernorm": "attn_q_norm",
  "self_attn.k_layernorm": "attn_k_norm",
  "conv.conv": { name: "shortconv.conv", change: "without ones" },
  "conv.in_proj": "shortconv.in_proj",
  "conv.out_proj": "shortconv.out_proj",
  "feed_forward.w1": "ffn_gate",
  "feed_forward.w2": "ffn_down",
  "feed_forward.w3": "ffn_up",
};
const MIXTURE: TensorNames = {
  "feed_forward.gate": "ffn_gate_inp",
  "feed_forward.expert_bias": { name: "exp_probs_b", end: ".bias" },
  "feed_forward.experts.{x}.w1": "ffn_gate_exps",
  "feed_forward.experts.{x}.w2": "ffn_down_exps",
  "feed_forward.experts.{x}.w3": "ffn_up_exps",
  "feed_forward.experts.gate_up_proj": [
    { name: "ffn_gate_exps", change: "first half", end: ".weight" },
    { name: "ffn_up_exps", change: "second half", end: ".weight" },
  ],
  "feed_forward.experts.down_proj": { name: "ffn_down_exps", end: ".weight" },
};

function keys(config: HfConfig): Keys {
  expect(config, "conv_bias", false);
  return {
    ...decoder(config),
    "attention.layer_norm_rms_epsilon": needed(config, "norm_eps"),
    "attention.layer_norm_epsilon": undefined,
    // It differs from layer to layer: see `keyHeads`.
    "attention.head_count_kv": undefined,
    "shortconv.l_cache": needed(config, "conv_L_cache"),
  };
}

/** The files name a size of which two thirds are taken, up to a multiple. */
function networkWidth(config: HfConfig): number {
  const { json } = config;
  const named = needed(config, "block_ff_dim", "intermediate_size");
  if (json.flag("block_auto_adjust_ff_dim") === false) return named;
  const wanted = Math.floor((json.number("block_ffn_dim_multiplier") ?? 1) * Math.floor((2 * named) / 3));
  const multiple = json.number("block_multiple_of") ?? 256;
  return multiple * Math.ceil(wanted / multiple);
}

/** None for layers with a convolution. */
const keyHeads =
  (architecture: string) =>
  (config: HfConfig): readonly MetadataEntry[] => {
    const kinds = config.json.list("layer_types");
    const attends = config.json.list("full_attn_idxs");
    if (kinds.length === 0 && attends.length === 0)
      throw refuse(config, "layer_types", "none", "the kind of each layer");
    const isAttention = (i: number): boolean =>
      kinds.length === 0 ? attends.includes(i) : kinds[i] === "full_attention";
    const heads = Array.from({ length: layersOf(config) }, (_, i) => (isAttention(i) ? kvHeadsOf(config) : 0));
    return [numbersEntry(`${architecture}.attention.head_count_kv`, "i32", heads)];
  };

const tensors = (layers: TensorNames): TensorNames => ({
  ...ENDS,
  embedding_norm: "token_embd_norm",
  ...inLayer(layers),
});

export const CONVOLUTIONS: readonly HfFamily[] = [
  {
    architecture: "lfm2",
    names: ["Lfm2ForCausalLM", "LFM2ForCausalLM"],
    keys: (config) => ({ ...keys(config), feed_forward_length: networkWidth(config) }),
    lists: keyHeads("lfm2"),
    tensors: tensors(LAYERS),
    isTied: true,
  },
  {
    architecture: "lfm2moe",
    names: ["Lfm2MoeForCausalLM"],
    keys: (config) => {
      expect(config, "norm_topk_prob", true);
      expect(config, "routed_scaling_factor", 1);
      return {
        ...keys(config),
        expert_feed_forward_length: needed(config, "moe_intermediate_size"),
        leading_dense_block_count: needed(config, "num_dense_layers"),
        expert_gating_func: SIGMOID,
      };
    },
    lists: keyHeads("lfm2moe"),
    tensors: tensors({ ...LAYERS, ...MIXTURE }),
    isTied: true,
  },
];
