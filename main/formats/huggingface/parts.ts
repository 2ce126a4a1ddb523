/** What the tables of families are written with: names of tensors, their changes, and keys that several have. */
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
  /** Rows of q, k and v are together for each key head (its queries, k, v): all of q come first, then k, then v. */
  | "split heads"
  /** A norm's weight is stored less 1. */
  | "plus one"
  /** Stored as [in, out], or each expert as such. */
  | "transpose"
  /** A matrix of one row is a vector; a convolution of each channel by itself is [channels, 1, taps] in the files. */
  | "without ones"
  /** The first or the second half of the rows (of each expert). */
  | "first half"
  | "second half";

export interface Target {
  /** Without `.weight` or `.bias`; `{i}` is the layer. */
  readonly name: string;
  readonly change?: Change | ((tensor: TensorBytes, config: HfConfig) => TensorBytes);
  /** The tensor has no `.weight` or `.bias` behind its name; this stands behind the new one. */
  readonly end?: "" | ".weight" | ".bias";
  /** Files may hold it under several names: the first that is found is taken. */
  readonly isCopy?: boolean;
}

/** No targets: it is known, and no tensor of a GGUF. */
export type TensorNames = Readonly<Record<string, string | Target | readonly Target[]>>;

export interface HfFamily {
  /** general.architecture */
  readonly architecture: string;
  /** `architectures` of config.json */
  readonly names: readonly string[];
  /** Of families that share a name: which models are of this one. */
  readonly isOf?: (config: HfConfig) => boolean;
  readonly keys: (config: HfConfig) => Keys;
  readonly tensors: TensorNames;
  /** The output is the embedding where config.json does not say. */
  readonly isTied?: boolean;
  /** The GGUF form has an output tensor even where it is the embedding. */
  readonly ownOutput?: boolean;
  /** An output that is among the tensors counts, whatever config.json says. */
  readonly storedOutput?: boolean;
  /** The GGUF form has two matrices behind the pooling. */
  readonly hasProjection?: boolean;
  /** Tensors beside those of the files. */
  readonly more?: (config: HfConfig) => Readonly<Record<string, TensorBytes>>;
  /** Keys that are lists. */
  readonly lists?: (config: HfConfig) => readonly MetadataEntry[];
  /** Tensors of one number in each layer that become a list of the layers' numbers, by its key. */
  readonly numbers?: Readonly<Record<string, string>>;
}

export const ENDS: TensorNames = { embed_tokens: "token_embd", norm: "output_norm", lm_head: "output" };
const LAYER = "layers.{i}.";
const BLOCK = "blk.{i}.";

/** `layer`: what stands before the names in the files. */
export const inBlock = (layer: string, names: TensorNames): TensorNames =>
  Object.fromEntries(
    Object.entries(names).map(([from, to]) => [
      `${layer}${from}`,
      typeof to === "string" ? `${BLOCK}${to}` : "name" in to ? blockTarget(to) : to.map(blockTarget),
    ]),
  );
export const inLayer = (names: TensorNames): TensorNames => inBlock(LAYER, names);
const blockTarget = (target: Target): Target => ({ ...target, name: `${BLOCK}${target.name}` });

export const ATTENTION: TensorNames = {
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "self_attn.q_norm": "attn_q_norm",
  "self_attn.k_norm": "attn_k_norm",
};
/** Rope on neighbouring pairs: q and k are stored for halves. */
export const TURNED: TensorNames = {
  ...ATTENTION,
  "self_attn.q_proj": { name: "attn_q", change: "q rope" },
  "self_attn.k_proj": { name: "attn_k", change: "k rope" },
};
export const NORMS: TensorNames = { input_layernorm: "attn_norm", post_attention_layernorm: "ffn_norm" };
export const SANDWICH: TensorNames = {
  input_layernorm: "attn_norm",
  post_attention_layernorm: "post_attention_norm",
  pre_feedforward_layernorm: "ffn_norm",
  post_feedforward_layernorm: "post_ffw_norm",
};
/** Norms behind attention and feed-forward, and none before. */
export const BEHIND_PARTS: TensorNames = {
  post_attention_layernorm: "post_attention_norm",
  post_feedforward_layernorm: "post_ffw_norm",
};
export const GATED: TensorNames = { "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down" };
export const EXPERTS: TensorNames = {
  "mlp.gate": "ffn_gate_inp",
  "mlp.experts.{x}.gate_proj": "ffn_gate_exps",
  "mlp.experts.{x}.up_proj": "ffn_up_exps",
  "mlp.experts.{x}.down_proj": "ffn_down_exps",
  // Newer files have the experts of a layer in one tensor.
  "mlp.experts.gate_up_proj": [
    { name: "ffn_gate_exps", change: "first half", end: ".weight" },
    { name: "ffn_up_exps", change: "second half", end: ".weight" },
  ],
  "mlp.experts.down_proj": { name: "ffn_down_exps", end: ".weight" },
};
export const MIXTRAL: TensorNames = {
  "block_sparse_moe.gate": "ffn_gate_inp",
  "block_sparse_moe.experts.{x}.w1": "ffn_gate_exps",
  "block_sparse_moe.experts.{x}.w2": "ffn_down_exps",
  "block_sparse_moe.experts.{x}.w3": "ffn_up_exps",
};
export const SHARED: TensorNames = {
  "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
  "mlp.shared_expert.up_proj": "ffn_up_shexp",
  "mlp.shared_expert.down_proj": "ffn_down_shexp",
  "mlp.shared_expert_gate": { name: "ffn_gate_inp_shexp", change: "without ones" },
};
export const GRANITE_EXPERTS: TensorNames = {
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
export const plusOne = (names: TensorNames): TensorNames =>
  Object.fromEntries(
    Object.entries(names).map(([from, to]) => [
      from,
      typeof to === "string" && to.endsWith("_norm") ? { name: to, change: "plus one" } : to,
    ]),
  );

export const turnedPart = (config: HfConfig): number =>
  Math.floor(
    headSizeOf(config) *
      (config.json.number("partial_rotary_factor") ??
        config.json.child("rope_parameters").number("partial_rotary_factor") ??
        1),
  );
export const rotary = (config: HfConfig): Keys => ropeKeys(config, turnedPart(config)).keys;
export const rotaryTensors = (config: HfConfig): Readonly<Record<string, TensorBytes>> =>
  ropeKeys(config, turnedPart(config)).tensors;

export function decoder(config: HfConfig): Keys {
  // Windows of Qwen's that are switched off stand in every file.
  if (config.json.flag("use_sliding_window") === true) throw refuse(config, "use_sliding_window", "true", "false");
  return { ...commonKeys(config), ...rotary(config) };
}

/** Every layer has experts, and the weights of the picked ones are divided by their sum, or not. */
export function experts(config: HfConfig, normalised: boolean): Keys {
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
export function scoreScale(config: HfConfig, largest: number): void {
  const isLargest = layersOf(config) === largest;
  const expected = isLargest ? widthOf(config) / headsOf(config) : headSizeOf(config);
  const given = config.json.number("query_pre_attn_scalar") ?? expected;
  if (given !== expected) throw refuse(config, "query_pre_attn_scalar", String(given), String(expected));
}

/** The window of the layers that have one, and which these are where they are not the last but every `period`th. */
export function windowLists(config: HfConfig, architecture: string, period: number): readonly MetadataEntry[] {
  const kinds = config.json.list("layer_types");
  const step = config.json.number("sliding_window_pattern") ?? period;
  const isLocal = (i: number): boolean => (kinds.length > 0 ? kinds[i] === "sliding_attention" : (i + 1) % step !== 0);
  const flags = Array.from({ length: layersOf(config) }, (_, i) => isLocal(i));
  if (flags.every((flag, i) => flag === ((i + 1) % period !== 0))) return [];
  const key = `${architecture}.attention.sliding_window_pattern`;
  return kinds.length === 0 ? [numberEntry(key, "u32", step)] : [numbersEntry(key, "bool", flags.map(Number))];
}
