/** Encoders, which make vectors of texts. */
import { numberEntry } from "../gguf/encode.ts";
import type { MetadataEntry } from "../gguf/values.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { rowsFrom, transposed, withDims } from "../tensorBytes.ts";
import { commonKeys, expect, needed, refuse } from "./keys.ts";
import type { HfConfig, Keys } from "./keys.ts";
import {
  ATTENTION,
  ENDS,
  GATED,
  NORMS,
  SANDWICH,
  TURNED,
  decoder,
  inBlock,
  inLayer,
  plusOne,
  rotaryTensors,
  scoreScale,
  windowLists,
} from "./parts.ts";
import type { HfFamily, TensorNames } from "./parts.ts";

/** llama.cpp looks for it among the keys of the tokenizer. */
const tokenTypes = ({ json }: HfConfig): readonly MetadataEntry[] => [
  numberEntry("tokenizer.ggml.token_type_count", "u32", json.number("type_vocab_size") ?? 1),
];

const POSITIONS = "max_position_embeddings";

function bertKeys(config: HfConfig): Keys {
  expect(config, "position_embedding_type", "absolute");
  return { ...commonKeys(config), "attention.causal": false };
}

const BERT_ENDS: TensorNames = {
  "embeddings.word_embeddings": "token_embd",
  "embeddings.position_embeddings": "position_embd",
  "embeddings.token_type_embeddings": "token_types",
  "embeddings.LayerNorm": "token_embd_norm",
};
const BERT_ATTENTION: TensorNames = {
  "attention.self.query": "attn_q",
  "attention.self.key": "attn_k",
  "attention.self.value": "attn_v",
  "attention.output.dense": "attn_output",
  "attention.output.LayerNorm": "attn_output_norm",
};
const BERT_NETWORK: TensorNames = {
  "intermediate.dense": "ffn_up",
  "output.dense": "ffn_down",
  "output.LayerNorm": "layer_output_norm",
};
/** Norms behind both branches. */
const BEHIND: TensorNames = { norm1: "attn_output_norm", norm2: "layer_output_norm" };

/** RoBERTa counts positions from the one behind the padding token's number; the rows before it are not used. */
const firstPosition = ({ json }: HfConfig): number => (json.number("pad_token_id") ?? -1) + 1;

function behindPadding(tensor: TensorBytes, config: HfConfig): TensorBytes {
  const [width = 1, rows = 0] = tensor.dims;
  const first = firstPosition(config);
  if (!Number.isInteger(first) || first < 0 || first >= rows)
    throw refuse(config, "pad_token_id", String(first - 1), `a number below ${rows - 1}`);
  return rowsFrom(tensor, (row) => row + first, [width, rows - first]);
}

/** Jina 3 has an adapter for each task beside its weights; XLM-RoBERTa, whose name it bears, has none. */
const hasTasks = ({ json }: HfConfig): boolean => json.list("lora_adaptations").length > 0;

/** Gate and up are in one matrix; the models for code have it the other way round, norms of q and k, and one norm more. */
const JINA_V2: TensorNames = {
  "mlp.gated_layers": [
    { name: "ffn_gate", change: "first half" },
    { name: "ffn_up", change: "second half" },
  ],
  "mlp.wo": "ffn_down",
  "mlp.layernorm": "layer_output_norm",
  "mlp.up_gated_layer": [
    { name: "ffn_up", change: "first half" },
    { name: "ffn_gate", change: "second half" },
  ],
  "mlp.down_layer": "ffn_down",
  "attention.self.layer_norm_q": "attn_q_norm",
  "attention.self.layer_norm_k": "attn_k_norm",
  layer_norm_1: "attn_norm_2",
  layer_norm_2: "layer_output_norm",
};

const nomicExperts = ({ json }: HfConfig): number =>
  (json.number("moe_every_n_layers") ?? 0) > 0 ? (json.number("num_experts", "num_local_experts") ?? 0) : 0;

function nomic(config: HfConfig): Keys {
  expect(config, "prenorm", false);
  expect(config, "rotary_emb_fraction", 1);
  return { ...commonKeys(config), "rope.freq_base": needed(config, "rotary_emb_base"), "attention.causal": false };
}

const NOMIC_ATTENTION: TensorNames = { "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output" };

/** Tensors of Nomic's encoders, whose feed-forward parts differ. */
const nomicTensors = (feedForward: TensorNames): TensorNames => ({
  "embeddings.word_embeddings": "token_embd",
  "embeddings.token_type_embeddings": "token_types",
  emb_ln: "token_embd_norm",
  ...inBlock("encoder.layers.{i}.", { ...BEHIND, ...NOMIC_ATTENTION, ...feedForward }),
});

/** The experts' matrices are the rows of one. */
function nomicRows(tensor: TensorBytes, config: HfConfig): TensorBytes {
  const [width = 1, rows = 0] = tensor.dims;
  const experts = nomicExperts(config);
  if (!Number.isInteger(experts) || rows % experts !== 0)
    throw refuse(config, "num_experts", String(experts), `a divisor of ${rows}`);
  return withDims(tensor, [width, rows / experts, experts]);
}

export const bert: HfFamily = {
  architecture: "bert",
  names: ["BertModel", "BertForMaskedLM"],
  keys: bertKeys,
  lists: tokenTypes,
  tensors: { ...BERT_ENDS, ...inBlock("encoder.layer.{i}.", { ...BERT_ATTENTION, ...BERT_NETWORK }) },
};

export const roberta: HfFamily = {
  architecture: "bert",
  names: ["RobertaModel", "XLMRobertaModel"],
  isOf: (config) => !hasTasks(config),
  keys: (config) => ({ ...bertKeys(config), context_length: needed(config, POSITIONS) - firstPosition(config) }),
  lists: tokenTypes,
  tensors: {
    ...BERT_ENDS,
    "embeddings.position_embeddings": { name: "position_embd", change: behindPadding },
    ...inBlock("encoder.layer.{i}.", { ...BERT_ATTENTION, ...BERT_NETWORK }),
  },
};

export const modernBert: HfFamily = {
  architecture: "modern-bert",
  names: ["ModernBertModel", "ModernBertForMaskedLM"],
  keys: (config) => {
    const every = needed(config, "global_attn_every_n_layers");
    if (every !== 3) throw refuse(config, "global_attn_every_n_layers", String(every), "3");
    return {
      ...commonKeys(config),
      "rope.freq_base": config.json.number("global_rope_theta"),
      "rope.freq_base_swa": config.json.number("local_rope_theta"),
      "attention.sliding_window": needed(config, "local_attention"),
      "attention.causal": false,
      hidden_activation: config.json.text("hidden_activation"),
    };
  },
  tensors: {
    "embeddings.tok_embeddings": "token_embd",
    "embeddings.norm": "token_embd_norm",
    final_norm: "output_norm",
    ...inBlock("layers.{i}.", {
      attn_norm: "attn_norm",
      "attn.Wqkv": "attn_qkv",
      "attn.Wo": "attn_output",
      mlp_norm: "ffn_norm",
      "mlp.Wi": "ffn_up",
      "mlp.Wo": "ffn_down",
    }),
  },
};

export const ENCODERS: readonly HfFamily[] = [
  {
    architecture: "gemma-embedding",
    names: ["Gemma3TextModel"],
    keys: (config) => {
      scoreScale(config, 62);
      expect(config, "use_bidirectional_attention", true);
      expect(config, "rope_local_base_freq", 10_000);
      return {
        ...decoder(config),
        "attention.sliding_window": needed(config, "sliding_window"),
        "attention.causal": false,
      };
    },
    lists: (config) => windowLists(config, "gemma-embedding", 6),
    tensors: plusOne({ ...ENDS, ...inLayer({ ...SANDWICH, ...ATTENTION, ...GATED }) }),
    isTied: true,
    hasProjection: true,
  },
  bert,
  roberta,
  {
    architecture: "bert",
    names: ["DistilBertModel", "DistilBertForMaskedLM"],
    keys: (config) => {
      expect(config, "activation", "gelu");
      return {
        ...commonKeys(config),
        feed_forward_length: needed(config, "hidden_dim"),
        "attention.layer_norm_epsilon": 1e-12,
        "attention.causal": false,
      };
    },
    lists: tokenTypes,
    tensors: {
      ...BERT_ENDS,
      ...inBlock("layer.{i}.", {
        "attention.q_lin": "attn_q",
        "attention.k_lin": "attn_k",
        "attention.v_lin": "attn_v",
        "attention.out_lin": "attn_output",
        sa_layer_norm: "attn_output_norm",
        "ffn.lin1": "ffn_up",
        "ffn.lin2": "ffn_down",
        output_layer_norm: "layer_output_norm",
      }),
    },
  },
  {
    architecture: "llama-embed",
    names: ["LlamaBidirectionalModel"],
    keys: (config) => ({ ...decoder(config), "attention.causal": false }),
    tensors: { ...ENDS, ...inLayer({ ...NORMS, ...TURNED, ...GATED }) },
    more: rotaryTensors,
    isTied: true,
  },
  {
    architecture: "jina-bert-v2",
    names: ["JinaBertModel", "JinaBertForMaskedLM"],
    keys: (config) => {
      expect(config, "position_embedding_type", "alibi");
      expect(config, "feed_forward_type", "geglu");
      return { ...commonKeys(config), "attention.causal": false };
    },
    lists: tokenTypes,
    tensors: { ...BERT_ENDS, ...inBlock("encoder.layer.{i}.", { ...BERT_ATTENTION, ...JINA_V2 }) },
  },
  {
    architecture: "jina-bert-v3",
    names: ["XLMRobertaModel"],
    isOf: hasTasks,
    keys: (config) => {
      expect(config, "position_embedding_type", "rotary");
      return {
        ...commonKeys(config),
        context_length: needed(config, POSITIONS) - firstPosition(config),
        "rope.freq_base": needed(config, "rotary_emb_base"),
        "attention.causal": false,
      };
    },
    lists: tokenTypes,
    tensors: {
      "embeddings.word_embeddings": "token_embd",
      "embeddings.token_type_embeddings": "token_types",
      emb_ln: "token_embd_norm",
      ...inBlock("encoder.layers.{i}.", {
        ...BEHIND,
        "mixer.Wqkv": "attn_qkv",
        "mixer.out_proj": "attn_output",
        "mlp.fc1": "ffn_up",
        "mlp.fc2": "ffn_down",
      }),
    },
  },
  {
    architecture: "nomic-bert",
    names: ["NomicBertModel"],
    isOf: (config) => nomicExperts(config) === 0,
    keys: nomic,
    lists: tokenTypes,
    tensors: nomicTensors({
      "mlp.fc11": "ffn_up",
      "mlp.fc12": "ffn_gate",
      "mlp.fc2": "ffn_down",
    }),
  },
  {
    architecture: "nomic-bert-moe",
    names: ["NomicBertModel"],
    isOf: (config) => nomicExperts(config) > 0,
    keys: (config) => ({
      ...nomic(config),
      moe_every_n_layers: needed(config, "moe_every_n_layers"),
      expert_count: nomicExperts(config),
      expert_used_count: needed(config, "moe_top_k"),
    }),
    lists: tokenTypes,
    tensors: nomicTensors({
      "mlp.fc1": "ffn_up",
      "mlp.fc2": "ffn_down",
      "mlp.router.layer": "ffn_gate_inp",
      "mlp.experts.mlp.w1": { name: "ffn_up_exps", end: ".weight", change: nomicRows },
      "mlp.experts.mlp.w2": {
        name: "ffn_down_exps",
        end: ".weight",
        change: (tensor, config) => transposed(nomicRows(tensor, config)),
      },
      // The GGUF form has no place for it, and llama.cpp goes without.
      "mlp.experts.bias": [],
    }),
  },
  modernBert,
];
