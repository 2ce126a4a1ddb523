/** Toy folders of the families that differ from a llama in norms, rope, or the order of a block. */
import {
  TOY_ROWS,
  attention,
  biases,
  headNorms,
  gated,
  norms,
  TWO,
  folder,
  dense,
  TIED,
  experts,
  LLAMA3,
} from "./toyFolderParts.ts";
import type { Config, Shape, Sizes, ToyFolder } from "./toyFolderParts.ts";

/** Norms of mean and variance with biases. */
const biasedNorms = (s: Shape, ...names: readonly string[]): Sizes => ({
  ...norms(s, ...names),
  ...Object.fromEntries(names.map((name) => [`${name}.bias`, [s.width]])),
});
const outputBias = ({ width }: Shape, name = "self_attn.o_proj"): Sizes => ({ [`${name}.bias`]: [width] });
const plain = ({ width, inner }: Shape, up: string, down: string, hasBias = true): Sizes => ({
  [`mlp.${up}.weight`]: [inner, width],
  [`mlp.${down}.weight`]: [width, inner],
  ...(hasBias && { [`mlp.${up}.bias`]: [inner], [`mlp.${down}.bias`]: [width] }),
});
/** The last norm under another name, with a bias; and biases of the output. */
const ended = (toy: ToyFolder, name: string, hasBias = true): ToyFolder => ({
  ...toy,
  tensors: toy.tensors.flatMap(([tensor, sizes]) =>
    tensor === "model.norm.weight"
      ? [[`${name}.weight`, sizes] as const, ...(hasBias ? [[`${name}.bias`, sizes] as const] : [])]
      : [[tensor, sizes] as const],
  ),
});
const without = (toy: ToyFolder, left: RegExp): ToyFolder => ({
  ...toy,
  tensors: toy.tensors.filter(([tensor]) => !left.test(tensor)),
});

export function variants(): readonly ToyFolder[] {
  const fourLayers = { num_hidden_layers: 4 };
  const layerNorm = { layer_norm_eps: 1e-5 };
  const parallel = (s: Shape): Sizes => ({
    ...norms(s, "input_layernorm"),
    ...attention(s),
    ...gated(s.width, s.inner),
  });
  const neox = folder(
    "gptneox",
    "GPTNeoXForCausalLM",
    { ...layerNorm, rotary_pct: 0.5, rotary_emb_base: 5000, num_key_value_heads: 4, use_parallel_residual: true },
    (s) => ({
      ...biasedNorms(s, ...TWO),
      "attention.query_key_value.weight": [3 * s.q, s.width],
      "attention.query_key_value.bias": [3 * s.q],
      "attention.dense.weight": [s.width, s.q],
      "attention.dense.bias": [s.width],
      ...plain(s, "dense_h_to_4h", "dense_4h_to_h"),
    }),
  );
  const phi = folder(
    "phi2",
    "PhiForCausalLM",
    { ...layerNorm, partial_rotary_factor: 0.5, num_key_value_heads: 4 },
    (s) => ({
      ...biasedNorms(s, "input_layernorm"),
      ...attention(s),
      ...biases(s),
      "self_attn.dense.weight": [s.width, s.q],
      "self_attn.dense.bias": [s.width],
      ...plain(s, "fc1", "fc2"),
    }),
  );
  return [
    folder(
      "smollm3, every fourth layer does not turn",
      "SmolLM3ForCausalLM",
      { ...fourLayers, no_rope_layers: [1, 1, 1, 0], rope_theta: 2_000_000, ...TIED },
      dense,
    ),
    without(
      folder("olmo, q, k and v within a limit", "OlmoForCausalLM", { clip_qkv: 1.5 }, (s) => ({
        ...attention(s),
        ...gated(s.width, s.inner),
      })),
      /^model\.norm/u,
    ),
    folder(
      "olmoe",
      "OlmoeForCausalLM",
      { num_experts: 5, num_experts_per_tok: 2, norm_topk_prob: false, intermediate_size: 32, num_key_value_heads: 4 },
      (s) => ({
        ...norms(s, ...TWO),
        ...attention(s),
        "self_attn.q_norm.weight": [s.q],
        "self_attn.k_norm.weight": [s.kv],
        ...experts(s),
      }),
    ),
    folder("command-r", "CohereForCausalLM", { ...layerNorm, logit_scale: 0.25, ...TIED }, parallel),
    folder(
      "cohere2, one layer of four sees all",
      "Cohere2ForCausalLM",
      {
        ...{ ...layerNorm, ...fourLayers, logit_scale: 0.25, sliding_window: 16, ...TIED },
        layer_types: ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
      },
      parallel,
    ),
    folder("exaone4", "Exaone4ForCausalLM", { rope_scaling: LLAMA3, sliding_window: null, ...TIED }, (s) => ({
      ...norms(s, "post_attention_layernorm", "post_feedforward_layernorm"),
      ...attention(s),
      ...headNorms(s),
      ...gated(s.width, s.inner),
    })),
    folder("glm4", "Glm4ForCausalLM", { partial_rotary_factor: 0.5, head_dim: 32 }, (s) => ({
      ...norms(s, ...TWO, "post_self_attn_layernorm", "post_mlp_layernorm"),
      ...attention(s),
      ...biases(s),
      "mlp.gate_up_proj.weight": [2 * s.inner, s.width],
      "mlp.down_proj.weight": [s.width, s.inner],
    })),
    folder(
      "mistral3, yarn and queries that grow",
      "Mistral3ForConditionalGeneration",
      {
        head_dim: 32,
        rope_parameters: {
          ...{ rope_type: "yarn", rope_theta: 1_000_000, factor: 4, original_max_position_embeddings: 16 },
          ...{ beta_fast: 24, beta_slow: 2, mscale: 1, mscale_all_dim: 1, llama_4_scaling_beta: 0.1 },
        },
      },
      dense,
    ),
    without(
      {
        ...ended(phi, "model.final_layernorm"),
        tensors: [...ended(phi, "model.final_layernorm").tensors, ["lm_head.bias", [TOY_ROWS]]],
      },
      /o_proj/u,
    ),
    folder("seed_oss", "SeedOssForCausalLM", { head_dim: 32 }, (s) => ({ ...dense(s), ...biases(s) })),
    ended(
      folder("starcoder2", "Starcoder2ForCausalLM", { norm_epsilon: 1e-5, ...TIED }, (s) => ({
        ...biasedNorms(s, ...TWO),
        ...attention(s),
        ...biases(s),
        ...outputBias(s),
        ...plain(s, "c_fc", "c_proj"),
      })),
      "model.norm",
    ),
    ended(
      folder("stablelm", "StableLmForCausalLM", { ...layerNorm, partial_rotary_factor: 0.25 }, (s) => ({
        ...biasedNorms(s, ...TWO),
        ...attention(s),
        ...biases(s),
        ...gated(s.width, s.inner),
      })),
      "model.norm",
    ),
    ended(
      folder("nemotron", "NemotronForCausalLM", { norm_eps: 1e-5, partial_rotary_factor: 0.5 }, (s) => ({
        ...biasedNorms(s, ...TWO),
        ...attention(s),
        ...plain(s, "up_proj", "down_proj", false),
      })),
      "model.norm",
    ),
    folder("minicpm", "MiniCPMForCausalLM", { scale_emb: 12, scale_depth: 1.4, dim_model_base: 32, ...TIED }, dense),
    folder("ernie4_5", "Ernie4_5ForCausalLM", { use_bias: false, ...TIED }, dense),
    {
      ...ended(neox, "gpt_neox.final_layer_norm"),
      tensors: ended(neox, "gpt_neox.final_layer_norm").tensors.map(([name, sizes]) => [
        name
          .replace("model.embed_tokens", "gpt_neox.embed_in")
          .replace("lm_head", "embed_out")
          .replace(/^model\./u, "gpt_neox."),
        sizes,
      ]),
    },
  ];
}

const grouped = ({ q, kv, width }: Shape, name: string): Sizes => ({ [`${name}.weight`]: [q + 2 * kv, width] });

function falcon(title: string, config: Config, layer: (s: Shape) => Sizes): ToyFolder {
  const own = { layer_norm_epsilon: 1e-5, intermediate_size: 256, parallel_attn: true, alibi: false, bias: false };
  const toy = folder(title, "FalconForCausalLM", { ...own, ...config, ...TIED }, (s) => ({
    ...layer(s),
    "self_attention.dense.weight": [s.width, s.q],
    ...plain({ ...s, inner: 4 * s.width }, "dense_h_to_4h", "dense_4h_to_h", false),
  }));
  return {
    ...toy,
    tensors: ended(toy, "transformer.ln_f").tensors.map(([name, sizes]) => [
      name.replace("model.embed_tokens", "transformer.word_embeddings").replace("model.layers", "transformer.h"),
      sizes,
    ]),
  };
}

function internlm2(): ToyFolder {
  const toy = folder("internlm2, q, k and v in groups", "InternLM2ForCausalLM", {}, (s) => ({
    ...norms(s, "attention_norm", "ffn_norm"),
    ...grouped(s, "attention.wqkv"),
    "attention.wo.weight": [s.width, s.q],
    "feed_forward.w1.weight": [s.inner, s.width],
    "feed_forward.w2.weight": [s.width, s.inner],
    "feed_forward.w3.weight": [s.inner, s.width],
  }));
  return {
    ...toy,
    tensors: toy.tensors.map(([name, sizes]) => [
      name.replace("embed_tokens", "tok_embeddings").replace(/^lm_head/u, "output"),
      sizes,
    ]),
  };
}

export const groupedFolders = (): readonly ToyFolder[] => [
  internlm2(),
  falcon(
    "falcon, one key head",
    { multi_query: true, new_decoder_architecture: false, num_key_value_heads: 1 },
    (s) => ({
      ...biasedNorms(s, "input_layernorm"),
      ...grouped(s, "self_attention.query_key_value"),
    }),
  ),
  falcon("falcon, two norms, groups", { num_kv_heads: 2, new_decoder_architecture: true }, (s) => ({
    ...biasedNorms(s, "ln_attn", "ln_mlp"),
    ...grouped(s, "self_attention.query_key_value"),
  })),
];

const DELTA: Config = {
  ...{ num_hidden_layers: 4, head_dim: 32, partial_rotary_factor: 0.5, full_attention_interval: 2 },
  layer_types: ["linear_attention", "full_attention", "linear_attention", "full_attention"],
  ...{ linear_num_key_heads: 2, linear_num_value_heads: 6, linear_key_head_dim: 16, linear_value_head_dim: 16 },
  linear_conv_kernel_dim: 4,
};
const MIXED = {
  ...{ num_experts: 5, num_experts_per_tok: 2, moe_intermediate_size: 32, shared_expert_intermediate_size: 48 },
  norm_topk_prob: true,
};
/** Of 2 key heads and 6 value heads of 16. */
const NET = { keys: 32, values: 96, heads: 6 };

/** Every second layer attends: its queries come with their gates. */
const deltaLayer = (s: Shape, i: number, net: Sizes): Sizes =>
  i % 2 === 0
    ? Object.fromEntries(
        Object.entries({
          ...net,
          "conv1d.weight": [2 * NET.keys + NET.values, 1, 4],
          A_log: [NET.heads],
          dt_bias: [NET.heads],
          "norm.weight": [16],
          "out_proj.weight": [s.width, NET.values],
        }).map(([name, sizes]) => [`linear_attn.${name}`, sizes]),
      )
    : { ...attention(s), ...headNorms(s), "self_attn.q_proj.weight": [2 * s.q, s.width] };

const nextNet = ({ width }: Shape): Sizes => ({
  "in_proj_qkvz.weight": [2 * NET.keys + 2 * NET.values, width],
  "in_proj_ba.weight": [2 * NET.heads, width],
});
const roundsNet = ({ width }: Shape): Sizes => ({
  "in_proj_qkv.weight": [2 * NET.keys + NET.values, width],
  "in_proj_z.weight": [NET.values, width],
  "in_proj_b.weight": [NET.heads, width],
  "in_proj_a.weight": [NET.heads, width],
});
const sharedExpert = (s: Shape): Sizes => ({
  ...gated(s.width, 48, "mlp.shared_expert."),
  "mlp.shared_expert_gate.weight": [1, s.width],
});
export const fusedExperts = (s: Shape): Sizes => ({
  "mlp.gate.weight": [5, s.width],
  "mlp.experts.gate_up_proj": [5, 64, s.width],
  "mlp.experts.down_proj": [5, s.width, 32],
});

const deltaFolder = (
  title: string,
  kind: string,
  more: Config,
  net: (s: Shape) => Sizes,
  feed: (s: Shape) => Sizes,
): ToyFolder => {
  const toy = folder(title, kind, { ...DELTA, ...more }, (s, _config, i) => ({
    ...norms(s, ...TWO),
    ...deltaLayer(s, i, net(s)),
    ...feed(s),
  }));
  const isWrapped = kind.endsWith("ConditionalGeneration");
  return isWrapped
    ? {
        ...toy,
        tensors: toy.tensors.map(([name, sizes]) => [name.replace(/^model\./u, "model.language_model."), sizes]),
      }
    : toy;
};
const PARTS = { rope_parameters: { rope_type: "default", rope_theta: 50_000, mrope_section: [3, 3, 2] } };

export const deltaFolders = (): readonly ToyFolder[] => [
  deltaFolder("qwen3next", "Qwen3NextForCausalLM", { ...MIXED }, nextNet, (s) => ({
    ...experts(s),
    ...sharedExpert(s),
  })),
  deltaFolder("qwen35", "Qwen3_5ForCausalLM", { ...PARTS, ...TIED }, roundsNet, (s) => gated(s.width, s.inner)),
  deltaFolder(
    "qwen35moe, experts in one tensor",
    "Qwen3_5MoeForConditionalGeneration",
    { ...PARTS, ...MIXED },
    roundsNet,
    (s) => ({ ...fusedExperts(s), ...sharedExpert(s) }),
  ),
];
