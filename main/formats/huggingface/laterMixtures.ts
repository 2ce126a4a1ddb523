/** Mixtures whose attention differs too: Llama 4, Cohere 2 with experts, Phi-MoE. */
import { numbersEntry } from "../gguf/encode.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { transposed } from "../tensorBytes.ts";
import { half } from "./changes.ts";
import { expect, layersOf, needed, refuse } from "./keys.ts";
import type { HfConfig, Keys } from "./keys.ts";
import { SHARED_EXPERTS, SIGMOID, SOFTMAX } from "./mixtures.ts";
import { ATTENTION, ENDS, EXPERTS, GATED, MIXTRAL, NORMS, decoder, inLayer, rotaryTensors } from "./parts.ts";
import type { HfFamily, TensorNames } from "./parts.ts";

// ---------------------------------------------------------------------------------------- Llama 4

/** Rows of each expert, which is stored as [in, out]: gate, then up. */
const turnedHalf =
  (which: 0 | 1) =>
  (tensor: TensorBytes): TensorBytes =>
    half(transposed(tensor), which);

const LLAMA4_NETWORK: TensorNames = {
  "feed_forward.gate_proj": "ffn_gate",
  "feed_forward.up_proj": "ffn_up",
  "feed_forward.down_proj": "ffn_down",
  "feed_forward.router": "ffn_gate_inp",
  "feed_forward.experts.gate_up_proj": [
    { name: "ffn_gate_exps", end: ".weight", change: turnedHalf(0) },
    { name: "ffn_up_exps", end: ".weight", change: turnedHalf(1) },
  ],
  "feed_forward.experts.down_proj": { name: "ffn_down_exps", end: ".weight", change: "transpose" },
  "feed_forward.shared_expert.gate_proj": "ffn_gate_shexp",
  "feed_forward.shared_expert.up_proj": "ffn_up_shexp",
  "feed_forward.shared_expert.down_proj": "ffn_down_shexp",
};

function llama4(config: HfConfig): Keys {
  const { json } = config;
  const step = json.number("interleave_moe_layer_step") ?? 1;
  const turns = json.list("no_rope_layers");
  if (!turns.every((turn, i) => turn === ((i + 1) % 4 === 0 ? 0 : 1)))
    throw refuse(config, "no_rope_layers", "other layers", "every fourth");
  if (!json.list("moe_layers").every((layer, i) => layer === (i + 1) * step - 1))
    throw refuse(config, "moe_layers", "other layers", `one of ${step}`);
  // Which models norm their heads follows from the number of experts.
  expect(config, "use_qk_norm", needed(config, "num_local_experts") !== 128);
  expect(config, "attn_scale", 0.1);
  expect(config, "floor_scale", 8192);
  expect(config, "attention_chunk_size", 8192);
  const warmed = json.get("attn_temperature_tuning");
  if (warmed === false || warmed === 0) throw refuse(config, "attn_temperature_tuning", String(warmed), "true");
  const kinds = json.list("layer_types");
  const isOpen = kinds.length > 0 && kinds.every((kind) => kind === "full_attention");
  return {
    ...decoder(config),
    feed_forward_length: needed(config, "intermediate_size_mlp"),
    expert_feed_forward_length: needed(config, "intermediate_size"),
    interleave_moe_layer_step: step,
    "attention.sliding_window": isOpen ? 0 : undefined,
  };
}

// ------------------------------------------------------------------------- Cohere 2 with experts

/** Layers in front without experts. */
function denseLayers({ json }: HfConfig): number {
  const kinds = json.list("mlp_layer_types");
  const first = kinds.findIndex((kind) => kind !== "dense");
  return kinds.length === 0 ? (json.number("first_k_dense_replace") ?? 0) : first === -1 ? kinds.length : first;
}

function cohere2moe(config: HfConfig): Keys {
  const { json } = config;
  const dense = denseLayers(config);
  const isInFront = json.list("mlp_layer_types").every((kind, i) => (kind === "dense") === i < dense);
  if (!isInFront) throw refuse(config, "mlp_layer_types", "dense layers among the others", "dense layers in front");
  // The first layers turn their heads even where they see everything.
  if (dense > 0) expect(config, "prefix_dense_sliding_window_pattern", 1);
  expect(config, "shared_expert_combination_strategy", "average");
  const width = needed(config, "intermediate_size");
  const shared = json.number("num_shared_experts") ?? 0;
  const isSoft = (json.text("expert_selection_fn") ?? "softmax") === "softmax";
  return {
    ...decoder(config),
    logit_scale: needed(config, "logit_scale"),
    "attention.sliding_window": needed(config, "sliding_window"),
    leading_dense_block_count: dense,
    feed_forward_length: json.number("prefix_dense_intermediate_size") ?? width,
    expert_feed_forward_length: width,
    ...(shared > 0 && { expert_shared_count: shared, expert_shared_feed_forward_length: shared * width }),
    expert_gating_func: isSoft ? SOFTMAX : SIGMOID,
    // A softmax over the picked ones is one over all, divided by the sum of the picked.
    expert_weights_norm: isSoft || json.flag("norm_topk_prob") === true,
  };
}

// ------------------------------------------------------------------------------------------ Phi-MoE

/** cos and sin are multiplied by a number that stands in config.json; Phi-3 derives it. */
function phimoe(config: HfConfig): Keys {
  const scaling = config.json.child("rope_scaling");
  const [long, short] = [scaling.number("long_mscale"), scaling.number("short_mscale")];
  if (long !== short) throw refuse(config, "short_mscale", String(short), String(long));
  const keys = decoder(config);
  return { ...keys, "rope.scaling.attn_factor": long ?? keys["rope.scaling.attn_factor"] };
}

export const LATER_MIXTURES: readonly HfFamily[] = [
  {
    architecture: "llama4",
    names: ["Llama4ForConditionalGeneration", "Llama4ForCausalLM"],
    keys: llama4,
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...LLAMA4_NETWORK }) },
    more: rotaryTensors,
  },
  {
    architecture: "cohere2moe",
    names: ["Cohere2MoeForCausalLM"],
    keys: cohere2moe,
    lists: (config) => {
      const kinds = config.json.list("layer_types");
      if (kinds.length < layersOf(config)) throw refuse(config, "layer_types", `${kinds.length} layers`, "all");
      const flags = kinds.map((kind) => Number(kind === "sliding_attention"));
      return [numbersEntry("cohere2moe.attention.sliding_window_pattern", "bool", flags)];
    },
    tensors: {
      ...ENDS,
      ...inLayer({ input_layernorm: "attn_norm", ...ATTENTION, ...GATED, ...EXPERTS, ...SHARED_EXPERTS }),
    },
    isTied: true,
  },
  {
    architecture: "phimoe",
    names: ["PhiMoEForCausalLM", "PhimoeForCausalLM"],
    keys: phimoe,
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...ATTENTION, ...MIXTRAL }) },
    more: rotaryTensors,
  },
];
