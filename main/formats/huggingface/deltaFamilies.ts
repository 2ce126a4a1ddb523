/**
 * Qwen3-Next and Qwen3.5: layers with a gated delta net beside layers that attend. The files of
 * Qwen3.5 go through the value heads key head by key head; its GGUF form takes the key heads in turn.
 */
import { numbersEntry } from "../gguf/encode.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { elementsOf, mapped, rowsFrom, withDims, withoutOnes } from "../tensorBytes.ts";
import { needed, refuse } from "./keys.ts";
import type { HfConfig, Keys } from "./keys.ts";
import { ATTENTION, ENDS, EXPERTS, GATED, SHARED, decoder, experts, inLayer, plusOne } from "./parts.ts";
import type { HfFamily, TensorNames } from "./parts.ts";

interface DeltaHeads {
  readonly keys: number;
  readonly values: number;
  /** Of a head of q, k and v. */
  readonly size: number;
}

function headsOf(config: HfConfig): DeltaHeads {
  const size = needed(config, "linear_key_head_dim");
  const valueSize = needed(config, "linear_value_head_dim");
  if (valueSize !== size) throw refuse(config, "linear_value_head_dim", String(valueSize), String(size));
  const [keys, values] = [needed(config, "linear_num_key_heads"), needed(config, "linear_num_value_heads")];
  const isWhole = [size, keys, values / keys].every((count) => Number.isSafeInteger(count) && count > 0);
  if (!isWhole) throw refuse(config, "linear_num_value_heads", String(values), `a multiple of ${keys}`);
  return { keys, values, size };
}

function deltaKeys(config: HfConfig): Keys {
  const { keys, values, size } = headsOf(config);
  const kinds = config.json.list("layer_types");
  const first = kinds.indexOf("full_attention") + 1;
  const interval = config.json.number("full_attention_interval") ?? (first === 0 ? 4 : first);
  const isRegular = kinds.every((kind, i) => (kind === "full_attention") === ((i + 1) % interval === 0));
  if (!isRegular) throw refuse(config, "layer_types", "other layers", `attention in one of ${interval}`);
  return {
    ...decoder(config),
    full_attention_interval: interval,
    "ssm.conv_kernel": needed(config, "linear_conv_kernel_dim"),
    "ssm.state_size": size,
    "ssm.group_count": keys,
    "ssm.time_step_rank": values,
    "ssm.inner_size": values * size,
  };
}

/** The picked experts' weights are divided by their sum, whether the file says so or not. */
const deltaExperts = (config: HfConfig): Keys => ({
  expert_feed_forward_length: needed(config, "moe_intermediate_size"),
  expert_shared_feed_forward_length: config.json.number("shared_expert_intermediate_size"),
});

/** Value head j of the GGUF form is this one of the files. */
const headFrom = (j: number, { keys, values }: DeltaHeads): number =>
  (j % keys) * (values / keys) + Math.floor(j / keys);

/** Rows, or numbers of a vector, that go by value heads; the first `before` heads' worth stay where they are. */
function byRounds(tensor: TensorBytes, config: HfConfig, isBehindKeys: boolean): TensorBytes {
  const heads = headsOf(config);
  const isVector = tensor.dims.length === 1;
  const matrix = isVector ? withDims(tensor, [1, ...tensor.dims]) : tensor;
  const rows = matrix.dims.at(-1) ?? 0;
  const before = isBehindKeys ? 2 * heads.keys * heads.size : 0;
  const each = (rows - before) / heads.values;
  if (!Number.isInteger(each))
    throw refuse(config, "linear_num_value_heads", String(heads.values), "a divisor of the rows");
  const ordered = rowsFrom(matrix, (row) => {
    if (row < before) return row;
    const inside = row - before;
    return before + headFrom(Math.floor(inside / each), heads) * each + (inside % each);
  });
  return isVector ? withDims(ordered, tensor.dims) : ordered;
}

const valueRows = (tensor: TensorBytes, config: HfConfig): TensorBytes => byRounds(tensor, config, false);
const rowsBehindKeys = (tensor: TensorBytes, config: HfConfig): TensorBytes =>
  byRounds(withoutOnes(tensor), config, true);

/** The columns of the output go by value heads. */
function valueColumns(tensor: TensorBytes, config: HfConfig): TensorBytes {
  const heads = headsOf(config);
  const [columns = 1, ...rest] = tensor.dims;
  const each = columns / heads.values;
  if (!Number.isInteger(each))
    throw refuse(config, "linear_num_value_heads", String(heads.values), `a divisor of ${columns}`);
  // A row of as many pieces as heads: pieces are the rows of a narrower matrix.
  const narrow = withDims(tensor, [each, heads.values * elementsOf(rest)]);
  const ordered = rowsFrom(narrow, (row) => {
    const inside = row % heads.values;
    return row - inside + headFrom(inside, heads);
  });
  return withDims(ordered, tensor.dims);
}

const decay = (tensor: TensorBytes): TensorBytes => mapped(tensor, (value) => Math.fround(-Math.exp(value)));

const BLOCK_NORMS: TensorNames = {
  input_layernorm: "attn_norm",
  post_attention_layernorm: "post_attention_norm",
};
const NET: TensorNames = {
  "linear_attn.out_proj": "ssm_out",
  // Not `ssm_norm`, which would be raised by 1.
  "linear_attn.norm": { name: "ssm_norm" },
};
const NEXT_NET: TensorNames = {
  ...NET,
  "linear_attn.in_proj_qkvz": "ssm_in",
  "linear_attn.in_proj_ba": "ssm_ba",
  "linear_attn.conv1d": { name: "ssm_conv1d", change: "without ones" },
  "linear_attn.A_log": { name: "ssm_a", end: "", change: decay },
  "linear_attn.dt_bias": { name: "ssm_dt", end: ".bias" },
};
const ROUNDS_NET: TensorNames = {
  ...NET,
  "linear_attn.in_proj_qkv": { name: "attn_qkv", change: rowsBehindKeys },
  "linear_attn.in_proj_z": { name: "attn_gate", change: valueRows },
  "linear_attn.in_proj_b": { name: "ssm_beta", change: valueRows },
  "linear_attn.in_proj_a": { name: "ssm_alpha", change: valueRows },
  "linear_attn.conv1d": { name: "ssm_conv1d", change: rowsBehindKeys },
  "linear_attn.A_log": { name: "ssm_a", end: "", change: (tensor, config) => decay(valueRows(tensor, config)) },
  "linear_attn.dt_bias": { name: "ssm_dt", end: ".bias", change: valueRows },
  "linear_attn.out_proj": { name: "ssm_out", change: valueColumns },
};

/** Positions of images have three parts; in text they are equal. */
const sections = (architecture: string) => (config: HfConfig) => {
  const list = config.json.child("rope_parameters").list("mrope_section");
  const numbers = list.filter((value) => typeof value === "number");
  return [numbersEntry(`${architecture}.rope.dimension_sections`, "i32", [...numbers, 0, 0, 0, 0].slice(0, 4))];
};

export const DELTA_FAMILIES: readonly HfFamily[] = [
  {
    architecture: "qwen3next",
    names: ["Qwen3NextForCausalLM"],
    keys: (config) => ({ ...deltaKeys(config), ...experts(config, true) }),
    tensors: plusOne({
      ...ENDS,
      ...inLayer({ ...BLOCK_NORMS, ...ATTENTION, ...NEXT_NET, ...EXPERTS, ...SHARED }),
    }),
  },
  {
    architecture: "qwen35",
    names: ["Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"],
    keys: deltaKeys,
    lists: sections("qwen35"),
    tensors: plusOne({ ...ENDS, ...inLayer({ ...BLOCK_NORMS, ...ATTENTION, ...ROUNDS_NET, ...GATED }) }),
  },
  {
    architecture: "qwen35moe",
    names: ["Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"],
    keys: (config) => ({ ...deltaKeys(config), ...deltaExperts(config) }),
    lists: sections("qwen35moe"),
    tensors: plusOne({
      ...ENDS,
      ...inLayer({ ...BLOCK_NORMS, ...ATTENTION, ...ROUNDS_NET, ...EXPERTS, ...SHARED }),
    }),
  },
];
