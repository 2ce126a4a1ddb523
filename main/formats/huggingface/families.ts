/**
 * The families of Hugging Face models that are opened like a GGUF: for each its names in
 * config.json, its keys, and what its tensors are called. `{i}` is a layer, `{x}` an expert; the
 * experts of a layer become one tensor.
 */
import { numberEntry, numbersEntry } from "../gguf/encode.ts";
import type { MetadataEntry } from "../gguf/values.ts";
import type { HfConfig, Keys } from "./keys.ts";
import { commonKeys, headSizeOf, headsOf, layersOf, needed, refuse, ropeKeys, widthOf } from "./keys.ts";
import type { TensorBytes } from "../tensorBytes.ts";

/** What happens to a tensor on its way. */
export type Change =
  /** The two halves of each head interleave, of q or of k. */
  | "q rope"
  | "k rope"
  /** A norm's weight is stored less 1. */
  | "plus one"
  /** Stored as [in, out]. */
  | "transpose"
  /** A matrix of one row is a vector. */
  | "vector"
  /** The first or the second half of the rows (of each expert). */
  | "first half"
  | "second half";

export interface Target {
  /** Without `.weight` or `.bias`; `{i}` is the layer. */
  readonly name: string;
  readonly change?: Change;
}

export type TensorNames = Readonly<Record<string, string | Target | readonly Target[]>>;

export interface HfFamily {
  /** general.architecture */
  readonly architecture: string;
  /** `architectures` of config.json */
  readonly names: readonly string[];
  readonly keys: (config: HfConfig) => Keys;
  readonly tensors: TensorNames;
  /** The output is the embedding where config.json does not say. */
  readonly isTied?: boolean;
  /** The GGUF form has an output tensor even where it is the embedding. */
  readonly ownOutput?: boolean;
  /** Tensors beside those of the files. */
  readonly more?: (config: HfConfig) => Readonly<Record<string, TensorBytes>>;
  /** Keys that are lists. */
  readonly lists?: (config: HfConfig) => readonly MetadataEntry[];
}

const ENDS: TensorNames = { embed_tokens: "token_embd", norm: "output_norm", lm_head: "output" };
const LAYER = "layers.{i}.";
const BLOCK = "blk.{i}.";

const inLayer = (names: TensorNames): TensorNames =>
  Object.fromEntries(
    Object.entries(names).map(([from, to]) => [
      `${LAYER}${from}`,
      typeof to === "string" ? `${BLOCK}${to}` : "name" in to ? blockTarget(to) : to.map(blockTarget),
    ]),
  );
const blockTarget = (target: Target): Target => ({ ...target, name: `${BLOCK}${target.name}` });

const ATTENTION: TensorNames = {
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "self_attn.q_norm": "attn_q_norm",
  "self_attn.k_norm": "attn_k_norm",
};
/** Rope on neighbouring pairs: q and k are stored for halves. */
const TURNED: TensorNames = {
  ...ATTENTION,
  "self_attn.q_proj": { name: "attn_q", change: "q rope" },
  "self_attn.k_proj": { name: "attn_k", change: "k rope" },
};
const NORMS: TensorNames = { input_layernorm: "attn_norm", post_attention_layernorm: "ffn_norm" };
const SANDWICH: TensorNames = {
  input_layernorm: "attn_norm",
  post_attention_layernorm: "post_attention_norm",
  pre_feedforward_layernorm: "ffn_norm",
  post_feedforward_layernorm: "post_ffw_norm",
};
const GATED: TensorNames = { "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down" };
const EXPERTS: TensorNames = {
  "mlp.gate": "ffn_gate_inp",
  "mlp.experts.{x}.gate_proj": "ffn_gate_exps",
  "mlp.experts.{x}.up_proj": "ffn_up_exps",
  "mlp.experts.{x}.down_proj": "ffn_down_exps",
};
const MIXTRAL: TensorNames = {
  "block_sparse_moe.gate": "ffn_gate_inp",
  "block_sparse_moe.experts.{x}.w1": "ffn_gate_exps",
  "block_sparse_moe.experts.{x}.w2": "ffn_down_exps",
  "block_sparse_moe.experts.{x}.w3": "ffn_up_exps",
};
const SHARED: TensorNames = {
  "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
  "mlp.shared_expert.up_proj": "ffn_up_shexp",
  "mlp.shared_expert.down_proj": "ffn_down_shexp",
  "mlp.shared_expert_gate": { name: "ffn_gate_inp_shexp", change: "vector" },
};
const GRANITE_EXPERTS: TensorNames = {
  "block_sparse_moe.router.layer": "ffn_gate_inp",
  "block_sparse_moe.input_linear": [
    { name: "ffn_gate_exps", change: "first half" },
    { name: "ffn_up_exps", change: "second half" },
  ],
  "block_sparse_moe.output_linear": "ffn_down_exps",
  "shared_mlp.input_linear": [
    { name: "ffn_gate_shexp", change: "first half" },
    { name: "ffn_up_shexp", change: "second half" },
  ],
  "shared_mlp.output_linear": "ffn_down_shexp",
};

/** The same names, with 1 added to the weights of norms. */
const plusOne = (names: TensorNames): TensorNames =>
  Object.fromEntries(
    Object.entries(names).map(([from, to]) => [
      from,
      typeof to === "string" && to.endsWith("_norm") ? { name: to, change: "plus one" } : to,
    ]),
  );

const turnedPart = (config: HfConfig): number =>
  Math.floor(headSizeOf(config) * (config.json.number("partial_rotary_factor") ?? 1));
const rotary = (config: HfConfig): Keys => ropeKeys(config, turnedPart(config)).keys;
const rotaryTensors = (config: HfConfig): Readonly<Record<string, TensorBytes>> =>
  ropeKeys(config, turnedPart(config)).tensors;

function decoder(config: HfConfig): Keys {
  // Windows of Qwen's that are switched off stand in every file.
  if (config.json.flag("use_sliding_window") === true) throw refuse(config, "use_sliding_window", "true", "false");
  return { ...commonKeys(config), ...rotary(config) };
}

/** Every layer has experts, and the weights of the picked ones are divided by their sum, or not. */
function experts(config: HfConfig, normalised: boolean): Keys {
  const { json } = config;
  const said = json.flag("norm_topk_prob") ?? false;
  if (said !== normalised) throw refuse(config, "norm_topk_prob", String(said), String(normalised));
  const step = json.number("decoder_sparse_step") ?? 1;
  if (step !== 1) throw refuse(config, "decoder_sparse_step", String(step), "1");
  if (json.list("mlp_only_layers").length > 0) throw refuse(config, "mlp_only_layers", "some layers", "none");
  return {
    expert_feed_forward_length: needed(config, "moe_intermediate_size"),
    expert_shared_feed_forward_length: json.number("shared_expert_intermediate_size"),
  };
}

/** Scores are divided by the root of a number of the file's; the GGUF form knows the family's own alone. */
function scoreScale(config: HfConfig, largest: number): void {
  const isLargest = layersOf(config) === largest;
  const expected = isLargest ? widthOf(config) / headsOf(config) : headSizeOf(config);
  const given = config.json.number("query_pre_attn_scalar") ?? expected;
  if (given !== expected) throw refuse(config, "query_pre_attn_scalar", String(given), String(expected));
}

/** The window of the layers that have one, and which these are where they are not the last but every `period`th. */
function windowLists(config: HfConfig, architecture: string, period: number): readonly MetadataEntry[] {
  const kinds = config.json.list("layer_types");
  const step = config.json.number("sliding_window_pattern") ?? period;
  const isLocal = (i: number): boolean => (kinds.length > 0 ? kinds[i] === "sliding_attention" : (i + 1) % step !== 0);
  const flags = Array.from({ length: layersOf(config) }, (_, i) => isLocal(i));
  if (flags.every((flag, i) => flag === ((i + 1) % period !== 0))) return [];
  const key = `${architecture}.attention.sliding_window_pattern`;
  return kinds.length === 0 ? [numberEntry(key, "u32", step)] : [numbersEntry(key, "bool", flags.map(Number))];
}

export const HF_FAMILIES: readonly HfFamily[] = [
  {
    architecture: "llama",
    names: ["LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM"],
    keys: (config) => ({ ...decoder(config), "attention.sliding_window": config.json.number("sliding_window") }),
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...TURNED, ...GATED, ...MIXTRAL }) },
    more: rotaryTensors,
  },
  {
    architecture: "qwen2",
    names: ["Qwen2ForCausalLM"],
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
    names: ["Qwen3ForCausalLM"],
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
      ...inLayer({
        ...ATTENTION,
        ...GATED,
        post_attention_layernorm: "post_attention_norm",
        post_feedforward_layernorm: "post_ffw_norm",
      }),
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
  {
    architecture: "bert",
    names: ["BertModel", "BertForMaskedLM"],
    keys: (config) => {
      const kind = config.json.text("position_embedding_type") ?? "absolute";
      if (kind !== "absolute") throw refuse(config, "position_embedding_type", kind, "absolute");
      return { ...commonKeys(config), "attention.causal": false };
    },
    tensors: {
      "embeddings.word_embeddings": "token_embd",
      "embeddings.position_embeddings": "position_embd",
      "embeddings.token_type_embeddings": "token_types",
      "embeddings.LayerNorm": "token_embd_norm",
      "encoder.layer.{i}.attention.self.query": "blk.{i}.attn_q",
      "encoder.layer.{i}.attention.self.key": "blk.{i}.attn_k",
      "encoder.layer.{i}.attention.self.value": "blk.{i}.attn_v",
      "encoder.layer.{i}.attention.output.dense": "blk.{i}.attn_output",
      "encoder.layer.{i}.attention.output.LayerNorm": "blk.{i}.attn_output_norm",
      "encoder.layer.{i}.intermediate.dense": "blk.{i}.ffn_up",
      "encoder.layer.{i}.output.dense": "blk.{i}.ffn_down",
      "encoder.layer.{i}.output.LayerNorm": "blk.{i}.layer_output_norm",
    },
  },
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
  /rotary_emb\.inv_freq|\.attn\.(masked_)?bias$|embeddings\.position_ids|^(pooler|cls)\.|(vision_tower|visual|multi_modal_projector)\./u;

/** Prefixes under which the same tensors stand. */
export const PREFIXES = [
  "language_model.model.",
  "model.language_model.",
  "language_model.",
  "model.",
  "transformer.",
  "bert.",
];
