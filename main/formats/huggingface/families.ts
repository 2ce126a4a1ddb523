/**
 * The families of Hugging Face models that are opened like a GGUF: for each its names in
 * config.json, its keys, and what its tensors are called. `{i}` is a layer, `{x}` an expert; the
 * experts of a layer become one tensor.
 */
import { commonKeys, needed, refuse } from "./keys.ts";
import type { HfConfig, Keys } from "./keys.ts";
import {
  ATTENTION,
  BEHIND_PARTS,
  ENDS,
  EXPERTS,
  GATED,
  GRANITE_EXPERTS,
  MIXTRAL,
  NORMS,
  SANDWICH,
  SHARED,
  TURNED,
  decoder,
  experts,
  inLayer,
  plusOne,
  rotaryTensors,
  scoreScale,
  windowLists,
} from "./parts.ts";
import type { HfFamily } from "./parts.ts";
import { APERTUS } from "./apertus.ts";
import { CONVOLUTIONS } from "./convolutions.ts";
import { DELTA_FAMILIES } from "./deltaFamilies.ts";
import { ENCODERS } from "./encoders.ts";
import { LATER_MIXTURES } from "./laterMixtures.ts";
import { MIXTURES } from "./mixtures.ts";
import { RERANKERS } from "./rerankers.ts";
import { TRANSLATORS } from "./translators.ts";
import { VARIANTS } from "./variants.ts";

const FIRST: readonly HfFamily[] = [
  {
    architecture: "llama",
    names: ["LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM"],
    keys: (config) => ({ ...decoder(config), "attention.sliding_window": config.json.number("sliding_window") }),
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...TURNED, ...GATED, ...EXPERTS, ...MIXTRAL }) },
    more: rotaryTensors,
  },
  {
    architecture: "qwen2",
    names: ["Qwen2ForCausalLM", "Qwen2Model"],
    keys: decoder,
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...GATED }) },
  },
  {
    architecture: "qwen2moe",
    names: ["Qwen2MoeForCausalLM"],
    keys: (config) => ({ ...decoder(config), ...experts(config, false) }),
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...EXPERTS, ...SHARED }) },
    ownOutput: true,
  },
  {
    architecture: "qwen3",
    names: ["Qwen3ForCausalLM", "Qwen3Model"],
    keys: decoder,
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...GATED }) },
  },
  {
    architecture: "qwen3moe",
    names: ["Qwen3MoeForCausalLM"],
    keys: (config) => ({ ...decoder(config), ...experts(config, true) }),
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...EXPERTS }) },
  },
  {
    architecture: "gemma",
    names: ["GemmaForCausalLM"],
    keys: decoder,
    tensors: plusOne({ ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...GATED }) }),
    isTied: true,
  },
  {
    architecture: "gemma2",
    names: ["Gemma2ForCausalLM"],
    keys: (config) => {
      scoreScale(config, 46);
      return {
        ...decoder(config),
        attn_logit_softcapping: config.json.number("attn_logit_softcapping"),
        final_logit_softcapping: config.json.number("final_logit_softcapping"),
        "attention.sliding_window": config.json.number("sliding_window"),
      };
    },
    tensors: plusOne({ ...ENDS, ...inLayer({ ...SANDWICH, ...ATTENTION, ...GATED }) }),
    isTied: true,
  },
  {
    architecture: "gemma3",
    names: ["Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"],
    keys: (config) => {
      scoreScale(config, 62);
      const local = config.json.child("rope_parameters").child("sliding_attention").number("rope_theta");
      return {
        ...decoder(config),
        final_logit_softcapping: config.json.number("final_logit_softcapping"),
        "attention.sliding_window": config.json.number("sliding_window"),
        "rope.freq_base_swa": config.json.number("rope_local_base_freq") ?? local,
      };
    },
    lists: (config) => windowLists(config, "gemma3", 6),
    tensors: plusOne({ ...ENDS, ...inLayer({ ...SANDWICH, ...ATTENTION, ...GATED }) }),
    isTied: true,
  },
  {
    architecture: "phi3",
    names: ["Phi3ForCausalLM"],
    keys: (config) => ({ ...decoder(config), "attention.sliding_window": config.json.number("sliding_window") }),
    tensors: {
      ...ENDS,
      ...inLayer({
        ...NORMS,
        "self_attn.qkv_proj": "attn_qkv",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
      }),
    },
    more: rotaryTensors,
  },
  {
    architecture: "granite",
    names: ["GraniteForCausalLM"],
    keys: (config) => ({ ...decoder(config), ...graniteFactors(config) }),
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...TURNED, ...GATED }) },
    more: rotaryTensors,
    isTied: true,
  },
  {
    architecture: "granitemoe",
    names: ["GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"],
    keys: (config) => ({
      ...decoder(config),
      ...graniteFactors(config),
      expert_shared_feed_forward_length: config.json.number("shared_intermediate_size"),
    }),
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...TURNED, ...GRANITE_EXPERTS }) },
    more: rotaryTensors,
    isTied: true,
  },
  {
    architecture: "olmo2",
    names: ["Olmo2ForCausalLM"],
    keys: decoder,
    tensors: {
      ...ENDS,
      ...inLayer({ ...ATTENTION, ...GATED, ...BEHIND_PARTS }),
    },
    ownOutput: true,
  },
  {
    architecture: "olmo2",
    names: ["Olmo3ForCausalLM"],
    keys: (config) => ({ ...decoder(config), "attention.sliding_window": needed(config, "sliding_window") }),
    lists: (config) => windowLists(config, "olmo2", 4),
    tensors: {
      ...ENDS,
      ...inLayer({ ...ATTENTION, ...GATED, ...BEHIND_PARTS }),
    },
    ownOutput: true,
  },
  {
    architecture: "gpt2",
    names: ["GPT2LMHeadModel"],
    keys: (config) => {
      if (config.json.flag("scale_attn_by_inverse_layer_idx") === true)
        throw refuse(config, "scale_attn_by_inverse_layer_idx", "true", "false");
      return commonKeys(config);
    },
    tensors: {
      wte: "token_embd",
      wpe: "position_embd",
      ln_f: "output_norm",
      lm_head: "output",
      "h.{i}.ln_1": "blk.{i}.attn_norm",
      "h.{i}.ln_2": "blk.{i}.ffn_norm",
      "h.{i}.attn.c_attn": { name: "blk.{i}.attn_qkv", change: "transpose" },
      "h.{i}.attn.c_proj": { name: "blk.{i}.attn_output", change: "transpose" },
      "h.{i}.mlp.c_fc": { name: "blk.{i}.ffn_up", change: "transpose" },
      "h.{i}.mlp.c_proj": { name: "blk.{i}.ffn_down", change: "transpose" },
    },
    isTied: true,
  },
];

export const HF_FAMILIES: readonly HfFamily[] = [
  ...[...FIRST, ...VARIANTS, APERTUS, ...DELTA_FAMILIES, ...CONVOLUTIONS],
  ...[...MIXTURES, ...LATER_MIXTURES, ...ENCODERS, ...RERANKERS, ...TRANSLATORS],
];

function graniteFactors({ json }: HfConfig): Keys {
  return {
    embedding_scale: json.number("embedding_multiplier"),
    residual_scale: json.number("residual_multiplier"),
    "attention.scale": json.number("attention_multiplier"),
    logit_scale: json.number("logits_scaling"),
  };
}

/** Tensors that no GGUF has: they follow from the keys, or serve training. */
export const LEFT_OUT =
  /rotary_emb\.inv_freq|\.attn\.(masked_)?bias$|embeddings\.position_ids|parametrizations\.weight\.\d+\.lora_[AB]$|EncDecAttention\.relative_attention_bias|^(pooler|cls|vocab_transform|vocab_layer_norm|vocab_projector|mtp|head|decoder)\.|(vision_tower|vision_model|visual|multi_modal_projector)\./u;

/** Prefixes under which the same tensors stand. */
export const PREFIXES = [
  "language_model.model.",
  "model.language_model.",
  "language_model.",
  "model.",
  "transformer.",
  "bert.",
  "distilbert.transformer.",
  "distilbert.",
  "roberta.",
  "gpt_neox.",
];
