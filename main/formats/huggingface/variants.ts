/** Families that differ from a llama in their norms, in what they turn, or in how a block is put together. */
import type { TensorBytes } from "../tensorBytes.ts";
import { rowsFrom } from "../tensorBytes.ts";
import { expect, headSizeOf, headsOf, kvHeadsOf, layersOf, needed, refuse, ropeBase, widthOf } from "./keys.ts";
import type { HfConfig, Keys } from "./keys.ts";
import {
  ATTENTION,
  BEHIND_PARTS,
  ENDS,
  EXPERTS,
  GATED,
  NORMS,
  TURNED,
  decoder,
  inBlock,
  inLayer,
  plusOne,
  rotaryTensors,
  windowLists,
} from "./parts.ts";
import type { HfFamily, TensorNames } from "./parts.ts";

/** Every fourth layer does not turn its heads; the GGUF form has no key for another rule. */
function everyFourthStill(config: HfConfig): void {
  const turns = config.json.list("no_rope_layers");
  const isUsual = turns.every((turn, i) => turn === ((i + 1) % 4 === 0 ? 0 : 1));
  if (!isUsual) throw refuse(config, "no_rope_layers", "other layers", "every fourth");
}

const MLP: TensorNames = { "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down" };
/** Both branches from one norm. */
const ONE_NORM: TensorNames = { input_layernorm: "attn_norm" };

const cohere = (config: HfConfig): Keys => {
  if (config.json.flag("use_qk_norm") === true && layersOf(config) < 64)
    throw refuse(config, "use_qk_norm", "true", "false below 64 layers");
  return { ...decoder(config), logit_scale: needed(config, "logit_scale") };
};

/** Queries grow with their position, and yarn says how it ramps. */
function mistral3(config: HfConfig): Keys {
  const rope = config.json.child("rope_parameters");
  const beta = rope.number("llama_4_scaling_beta");
  if (beta === undefined) return decoder(config);
  return {
    ...decoder(config),
    "rope.scaling.yarn_beta_fast": rope.number("beta_fast") ?? 32,
    "rope.scaling.yarn_beta_slow": rope.number("beta_slow") ?? 1,
    "rope.scaling.yarn_log_multiplier": rope.number("mscale_all_dim") ?? 0,
    "attention.temperature_scale": beta,
  };
}

/** One of q, k and v from a matrix that goes key head by key head; neighbours turn, where halves are stored. */
const groupedRows =
  (part: "q" | "k" | "v") =>
  (tensor: TensorBytes, config: HfConfig): TensorBytes => {
    const [heads, groups] = [headsOf(config), kvHeadsOf(config)];
    const [columns = 1, all = 0] = tensor.dims;
    const each = heads / groups;
    const size = all / (heads + 2 * groups);
    if (!Number.isInteger(size) || !Number.isInteger(each))
      throw refuse(config, "num_key_value_heads", String(groups), "a divisor");
    const count = part === "q" ? each : 1;
    const first = part === "q" ? 0 : part === "k" ? each : each + 1;
    const from = (row: number): number => {
      const [head, inside] = [Math.floor(row / size), row % size];
      const place = part === "v" ? inside : (inside % 2) * (size / 2) + (inside >> 1);
      return (Math.floor(head / count) * (each + 2) + first + (head % count)) * size + place;
    };
    return rowsFrom(tensor, from, [columns, groups * count * size]);
  };

export const VARIANTS: readonly HfFamily[] = [
  {
    architecture: "smollm3",
    names: ["SmolLM3ForCausalLM"],
    keys: (config) => {
      everyFourthStill(config);
      return decoder(config);
    },
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...TURNED, ...GATED }) },
    isTied: true,
  },
  {
    architecture: "olmo",
    names: ["OlmoForCausalLM"],
    keys: (config) => ({
      ...decoder(config),
      "attention.layer_norm_epsilon": 1e-5,
      "attention.clamp_kqv": config.json.number("clip_qkv"),
    }),
    tensors: { ...ENDS, ...inLayer({ ...TURNED, ...GATED }) },
  },
  {
    architecture: "olmoe",
    names: ["OlmoeForCausalLM"],
    keys: (config) => {
      expect(config, "norm_topk_prob", false);
      if (config.json.number("clip_qkv") !== undefined) throw refuse(config, "clip_qkv", "a limit", "none");
      return decoder(config);
    },
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...EXPERTS }) },
    ownOutput: true,
  },
  {
    architecture: "command-r",
    names: ["CohereForCausalLM"],
    keys: cohere,
    tensors: { ...ENDS, ...inLayer({ ...ONE_NORM, ...ATTENTION, ...GATED }) },
    isTied: true,
  },
  {
    architecture: "cohere2",
    names: ["Cohere2ForCausalLM"],
    keys: (config) => ({ ...cohere(config), "attention.sliding_window": needed(config, "sliding_window") }),
    lists: (config) => windowLists(config, "cohere2", 4),
    tensors: { ...ENDS, ...inLayer({ ...ONE_NORM, ...ATTENTION, ...GATED }) },
    isTied: true,
  },
  {
    architecture: "exaone4",
    names: ["Exaone4ForCausalLM"],
    keys: (config) => {
      const window = config.json.number("sliding_window");
      if (window !== undefined && layersOf(config) !== 64)
        throw refuse(config, "sliding_window", String(window), "null");
      return { ...decoder(config), "attention.sliding_window": window };
    },
    tensors: {
      ...ENDS,
      ...inLayer({ ...ATTENTION, ...GATED, ...BEHIND_PARTS }),
    },
    more: rotaryTensors,
  },
  {
    architecture: "glm4",
    names: ["Glm4ForCausalLM"],
    keys: decoder,
    tensors: {
      ...ENDS,
      ...inLayer({
        ...NORMS,
        ...ATTENTION,
        post_self_attn_layernorm: "post_attention_norm",
        post_mlp_layernorm: "post_ffw_norm",
        "mlp.gate_up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
      }),
    },
  },
  {
    architecture: "mistral3",
    names: ["Mistral3ForConditionalGeneration", "Ministral3ForCausalLM"],
    keys: mistral3,
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...TURNED, ...GATED }) },
    more: rotaryTensors,
  },
  {
    architecture: "phi2",
    names: ["PhiForCausalLM"],
    keys: (config) => {
      expect(config, "qk_layernorm", false);
      return decoder(config);
    },
    tensors: {
      embed_tokens: "token_embd",
      final_layernorm: "output_norm",
      lm_head: "output",
      ...inLayer({
        ...ONE_NORM,
        ...ATTENTION,
        "self_attn.dense": "attn_output",
        "mlp.fc1": "ffn_up",
        "mlp.fc2": "ffn_down",
      }),
    },
  },
  {
    architecture: "seed_oss",
    names: ["SeedOssForCausalLM"],
    keys: decoder,
    tensors: {
      ...ENDS,
      ...inLayer({
        ...ATTENTION,
        ...GATED,
        input_layernorm: "attn_norm",
        post_attention_layernorm: "post_attention_norm",
      }),
    },
  },
  {
    architecture: "starcoder2",
    names: ["Starcoder2ForCausalLM"],
    keys: (config) => decoder(config),
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...MLP }) },
    isTied: true,
  },
  {
    architecture: "stablelm",
    names: ["StableLmForCausalLM"],
    keys: (config) => {
      expect(config, "qk_layernorm", false);
      return { ...decoder(config), use_parallel_residual: config.json.flag("use_parallel_residual") ?? false };
    },
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...GATED }) },
  },
  {
    architecture: "nemotron",
    names: ["NemotronForCausalLM"],
    keys: decoder,
    tensors: plusOne({
      ...ENDS,
      ...inLayer({ ...NORMS, ...ATTENTION, "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down" }),
    }),
  },
  {
    architecture: "minicpm",
    names: ["MiniCPMForCausalLM"],
    keys: (config) => ({
      ...decoder(config),
      embedding_scale: needed(config, "scale_emb"),
      residual_scale: needed(config, "scale_depth") / Math.sqrt(layersOf(config)),
      logit_scale: widthOf(config) / needed(config, "dim_model_base"),
    }),
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...TURNED, ...GATED }) },
    more: rotaryTensors,
    isTied: true,
  },
  {
    architecture: "ernie4_5",
    names: ["Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM"],
    keys: (config) => {
      expect(config, "use_bias", false);
      return decoder(config);
    },
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...GATED }) },
    isTied: true,
  },
  {
    architecture: "gptneox",
    names: ["GPTNeoXForCausalLM"],
    keys: (config) => ({
      ...decoder(config),
      "rope.freq_base": ropeBase(config) ?? config.json.number("rotary_emb_base"),
      "rope.dimension_count": Math.floor(headSizeOf(config) * (config.json.number("rotary_pct") ?? 0.25)),
      use_parallel_residual: config.json.flag("use_parallel_residual") ?? true,
    }),
    tensors: {
      embed_in: "token_embd",
      embed_out: "output",
      final_layer_norm: "output_norm",
      ...inLayer({
        ...NORMS,
        "attention.query_key_value": { name: "attn_qkv", change: "split heads" },
        "attention.dense": "attn_output",
        "mlp.dense_h_to_4h": "ffn_up",
        "mlp.dense_4h_to_h": "ffn_down",
      }),
    },
  },
  {
    architecture: "falcon",
    names: ["FalconForCausalLM"],
    keys: (config) => {
      expect(config, "alibi", false);
      expect(config, "parallel_attn", true);
      return decoder(config);
    },
    tensors: {
      word_embeddings: "token_embd",
      ln_f: "output_norm",
      lm_head: "output",
      ...inBlock("h.{i}.", {
        input_layernorm: "attn_norm",
        ln_mlp: "attn_norm",
        ln_attn: "attn_norm_2",
        "self_attention.query_key_value": { name: "attn_qkv", change: "split heads" },
        "self_attention.dense": "attn_output",
        "mlp.dense_h_to_4h": "ffn_up",
        "mlp.dense_4h_to_h": "ffn_down",
      }),
    },
    isTied: true,
  },
  {
    architecture: "internlm2",
    names: ["InternLM2ForCausalLM"],
    keys: decoder,
    tensors: {
      tok_embeddings: "token_embd",
      norm: "output_norm",
      output: "output",
      ...inLayer({
        attention_norm: "attn_norm",
        ffn_norm: "ffn_norm",
        "attention.wqkv": [
          { name: "attn_q", change: groupedRows("q") },
          { name: "attn_k", change: groupedRows("k") },
          { name: "attn_v", change: groupedRows("v") },
        ],
        "attention.wo": "attn_output",
        "feed_forward.w1": "ffn_gate",
        "feed_forward.w2": "ffn_down",
        "feed_forward.w3": "ffn_up",
      }),
    },
  },
];
