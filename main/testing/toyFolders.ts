/**
 * Toy folders of Hugging Face models: config.json and the tensors that models of this kind are
 * published with. Python writes random weights for them and says what they compute
 * (python/answers/hf_answers.py).
 */
import { byteCharacters } from "./byteVocabulary.ts";
import { sharedOracleProcess } from "./oracleProcess.ts";
import type { OracleValue } from "./oracleProcess.ts";
import {
  TOY_ROWS,
  attention,
  biases,
  headNorms,
  gated,
  norms,
  TWO,
  FOUR,
  folder,
  dense,
  TIED,
  manyExperts,
  MOE,
  experts,
  LLAMA3,
} from "./toyFolderParts.ts";
import type { ToyFolder, Sizes, Shape } from "./toyFolderParts.ts";
import { convolutionFolders } from "./toyConvolutions.ts";
import { laterFolders } from "./toyLaterMixtures.ts";
import { mixtureFolders } from "./toyMixtures.ts";
import { TOY_TRANSLATORS } from "./toyTranslators.ts";
import { deltaFolders, groupedFolders, fusedExperts, variants } from "./toyVariants.ts";

export { TOY_ROWS } from "./toyFolderParts.ts";
export type { ToyFolder } from "./toyFolderParts.ts";

const GRANITE = {
  embedding_multiplier: 3,
  residual_multiplier: 0.22,
  attention_multiplier: 0.0625,
  logits_scaling: 2,
  ...TIED,
};
export const TOY_FOLDERS: readonly ToyFolder[] = [
  folder("llama, own output", "LlamaForCausalLM", { rope_theta: 50_000 }, dense),
  folder(
    "llama 3, factors of rope, biases",
    "LlamaForCausalLM",
    { rope_scaling: LLAMA3, head_dim: 32, ...TIED },
    (s) => ({
      ...dense(s),
      ...biases(s),
    }),
  ),
  folder(
    "mistral, bf16 in three files",
    "MistralForCausalLM",
    { sliding_window: 4096, num_attention_heads: 8 },
    dense,
    {
      dtype: "BF16",
      shards: 3,
    },
  ),
  folder("mixtral", "MixtralForCausalLM", { num_local_experts: 4, num_experts_per_tok: 2 }, (s) => ({
    ...norms(s, ...TWO),
    ...attention(s),
    "block_sparse_moe.gate.weight": [4, s.width],
    ...manyExperts(4, (at) => ({
      [`block_sparse_moe.${at}w1.weight`]: [s.inner, s.width],
      [`block_sparse_moe.${at}w2.weight`]: [s.width, s.inner],
      [`block_sparse_moe.${at}w3.weight`]: [s.inner, s.width],
    })),
  })),
  folder(
    "qwen2, f16",
    "Qwen2ForCausalLM",
    { sliding_window: 32, use_sliding_window: false, ...TIED },
    (s) => ({ ...dense(s), ...biases(s) }),
    {
      dtype: "F16",
    },
  ),
  folder(
    "qwen2moe",
    "Qwen2MoeForCausalLM",
    { ...MOE, norm_topk_prob: false, shared_expert_intermediate_size: 64 },
    (s) => ({
      ...norms(s, ...TWO),
      ...attention(s),
      ...biases(s),
      ...experts(s),
      ...gated(s.width, 64, "mlp.shared_expert."),
      "mlp.shared_expert_gate.weight": [1, s.width],
    }),
  ),
  folder("qwen3", "Qwen3ForCausalLM", { head_dim: 32, rope_theta: 1_000_000, ...TIED }, (s) => ({
    ...dense(s),
    ...headNorms(s),
  })),
  folder(
    "qwen3moe, two files",
    "Qwen3MoeForCausalLM",
    { ...MOE, norm_topk_prob: true, head_dim: 32 },
    (s) => ({
      ...norms(s, ...TWO),
      ...attention(s),
      ...headNorms(s),
      ...experts(s),
    }),
    { shards: 2 },
  ),
  folder(
    "qwen3moe, experts in one tensor",
    "Qwen3MoeForCausalLM",
    { ...MOE, norm_topk_prob: true, head_dim: 32 },
    (s) => ({
      ...norms(s, ...TWO),
      ...attention(s),
      ...headNorms(s),
      ...fusedExperts(s),
    }),
  ),
  folder("gemma", "GemmaForCausalLM", { head_dim: 32, ...TIED }, dense),
  folder(
    "gemma2",
    "Gemma2ForCausalLM",
    {
      head_dim: 32,
      query_pre_attn_scalar: 32,
      sliding_window: 16,
      attn_logit_softcapping: 5,
      final_logit_softcapping: 4,
      ...TIED,
    },
    (s) => ({ ...norms(s, ...FOUR), ...attention(s), ...gated(s.width, s.inner) }),
  ),
  folder(
    "gemma3",
    "Gemma3ForCausalLM",
    {
      ...{ num_hidden_layers: 7, head_dim: 32, query_pre_attn_scalar: 32, sliding_window: 16 },
      ...{
        rope_theta: 1_000_000,
        rope_local_base_freq: 10_000,
        rope_scaling: { rope_type: "linear", factor: 8 },
        ...TIED,
      },
    },
    (s) => ({ ...norms(s, ...FOUR), ...attention(s), ...headNorms(s), ...gated(s.width, s.inner) }),
  ),
  folder("phi3, part of a head turns", "Phi3ForCausalLM", { partial_rotary_factor: 0.75 }, phi3),
  folder(
    "phi3, a long context",
    "Phi3ForCausalLM",
    {
      original_max_position_embeddings: 32,
      rope_scaling: {
        type: "longrope",
        long_factor: Array.from({ length: 8 }, (_, i) => 1 + i),
        short_factor: Array.from({ length: 8 }, () => 1),
      },
    },
    phi3,
  ),
  folder("granite", "GraniteForCausalLM", GRANITE, dense),
  folder(
    "granitemoe",
    "GraniteMoeSharedForCausalLM",
    { ...GRANITE, num_local_experts: 4, num_experts_per_tok: 2, shared_intermediate_size: 64 },
    (s) => ({
      ...norms(s, ...TWO),
      ...attention(s),
      "block_sparse_moe.router.layer.weight": [4, s.width],
      "block_sparse_moe.input_linear.weight": [4, 2 * s.inner, s.width],
      "block_sparse_moe.output_linear.weight": [4, s.width, s.inner],
      "shared_mlp.input_linear.weight": [128, s.width],
      "shared_mlp.output_linear.weight": [s.width, 64],
    }),
  ),
  folder(
    "olmo2, yarn",
    "Olmo2ForCausalLM",
    {
      rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 64 },
    },
    (s) => ({
      ...norms(s, "post_attention_layernorm", "post_feedforward_layernorm"),
      ...attention(s),
      "self_attn.q_norm.weight": [s.q],
      "self_attn.k_norm.weight": [s.kv],
      ...gated(s.width, s.inner),
    }),
  ),
  folder(
    "olmo3, windows and yarn",
    "Olmo3ForCausalLM",
    {
      ...{ num_hidden_layers: 4, sliding_window: 16 },
      rope_scaling: { rope_type: "yarn", factor: 4, original_max_position_embeddings: 64 },
      layer_types: ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
    },
    (s) => ({
      ...norms(s, "post_attention_layernorm", "post_feedforward_layernorm"),
      ...attention(s),
      "self_attn.q_norm.weight": [s.q],
      "self_attn.k_norm.weight": [s.kv],
      ...gated(s.width, s.inner),
    }),
  ),
  gpt2(),
  ...variants(),
  ...groupedFolders(),
  ...deltaFolders(),
  ...mixtureFolders(),
  ...laterFolders(),
  ...convolutionFolders(),
  ...TOY_TRANSLATORS,
];

function phi3(s: Shape): Sizes {
  return {
    ...norms(s, ...TWO),
    "self_attn.qkv_proj.weight": [s.q + 2 * s.kv, s.width],
    "self_attn.o_proj.weight": [s.width, s.q],
    "mlp.gate_up_proj.weight": [2 * s.inner, s.width],
    "mlp.down_proj.weight": [s.width, s.inner],
  };
}

function gpt2(): ToyFolder {
  const [width, layers] = [64, 2];
  const pair = (name: string, sizes: readonly number[]): (readonly [string, readonly number[]])[] => [
    [`${name}.weight`, sizes],
    [`${name}.bias`, [sizes.at(-1) ?? 0]],
  ];
  return {
    title: "gpt2",
    config: {
      ...{ architectures: ["GPT2LMHeadModel"], vocab_size: TOY_ROWS, n_embd: width, n_layer: layers, n_head: 4 },
      ...{ n_positions: 256, layer_norm_epsilon: 1e-5 },
    },
    tensors: [
      ["wte.weight", [TOY_ROWS, width]],
      ["wpe.weight", [256, width]],
      ...Array.from({ length: layers }, (_, i) => [
        ...pair(`h.${i}.ln_1`, [width]),
        ...pair(`h.${i}.attn.c_attn`, [width, 3 * width]),
        ...pair(`h.${i}.attn.c_proj`, [width, width]),
        ...pair(`h.${i}.ln_2`, [width]),
        ...pair(`h.${i}.mlp.c_fc`, [width, 4 * width]),
        ...pair(`h.${i}.mlp.c_proj`, [4 * width, width]),
      ]).flat(),
      ...pair("ln_f", [width]),
    ],
  };
}

const SPACE = "Ġ";
const MERGES = [
  [SPACE, "t"], ["h", "e"], ["i", "n"], ["r", "e"], ["o", "n"], [`${SPACE}t`, "he"], ["e", "r"], [SPACE, "a"], ["a", "t"],
  [SPACE, "s"], ["n", "d"], [SPACE, "w"], ["o", "u"], ["1", "2"], ["l", "l"], ["in", "g"], [SPACE, "c"], ["'", "s"], ["e", "d"],
] as const; // prettier-ignore

/** tokenizer.json and its companions: bytes, merges, two control tokens, one of the user's, and rows without a token; and `more` tokens by their ids. */
export function toyTokenizer(
  preTokenizer: OracleValue,
  more: Readonly<Record<string, number>> = {},
): Readonly<Record<string, OracleValue>> {
  const alphabet = byteCharacters();
  const tokens = [...alphabet, ...MERGES.map(([a, b]) => a + b)];
  const added = ["<|begin|>", "<|end|>", "<|tool|>", "<|turn|>"];
  return {
    "tokenizer.json": {
      version: "1.0",
      added_tokens: added.map((content, i) => ({
        ...{ id: tokens.length + i, content, special: content !== "<|tool|>", normalized: false },
        ...{ single_word: false, lstrip: false, rstrip: false },
      })),
      normalizer: null,
      pre_tokenizer: preTokenizer,
      post_processor: null,
      decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: {
        ...{ type: "BPE", dropout: null, unk_token: null, fuse_unk: false, byte_fallback: false, ignore_merges: false },
        ...{ continuing_subword_prefix: null, end_of_word_suffix: null },
        vocab: { ...Object.fromEntries(tokens.map((token, id) => [token, id])), ...more },
        merges: MERGES.map(([a, b]) => `${a} ${b}`),
      },
    },
    "tokenizer_config.json": {
      ...{ bos_token: "<|begin|>", eos_token: { content: "<|end|>" }, add_bos_token: true },
      chat_template: "{% for m in messages %}<|turn|>{{ m.content }}{% endfor %}",
    },
    "generation_config.json": {
      ...{
        do_sample: true,
        temperature: 0.7,
        top_k: 20,
        top_p: 0.8,
        eos_token_id: [tokens.length + 1, tokens.length + 3],
      },
    },
  };
}

export const BYTE_LEVEL = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };

export async function writeFolder(
  path: string,
  toy: ToyFolder,
  tokenizer: Readonly<Record<string, OracleValue>> = toyTokenizer(BYTE_LEVEL),
): Promise<void> {
  const { config, tensors, dtype = "F32", shards = 1, modules = [] } = toy;
  await sharedOracleProcess("python").ask("hf.write", {
    folder: path,
    config,
    tensors: tensors.map(([name, sizes]) => [name, sizes]),
    dtype,
    shards,
    tokenizer: { ...tokenizer, ...toy.files },
    modules: modules.map(({ path: part, type, config: settings, tensors: matrices }) => ({
      ...{ path: part, type, config: settings },
      tensors: matrices.map(([name, sizes]) => [name, sizes]),
    })),
  });
}
