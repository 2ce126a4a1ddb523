/** Toy folders of encoders. */
import { FOUR, LLAMA3, TIED, TOY_ROWS, TWO, attention, folder, gated, headNorms, norms } from "./toyFolderParts.ts";
import { BYTE_LEVEL, toyTokenizer } from "./toyFolders.ts";
import type { Sizes, ToyFolder, ToyModule } from "./toyFolderParts.ts";
import { TOY_T5_ENCODERS } from "./toyTranslators.ts";

const [WIDTH, INNER] = [64, 96];
const pair = (name: string, sizes: readonly number[]): Sizes => ({
  [`${name}.weight`]: sizes,
  [`${name}.bias`]: [sizes[0] ?? 0],
});
const inLayers = (count: number, start: string, layer: (i: number) => Sizes): Sizes =>
  Object.assign(
    {},
    ...Array.from({ length: count }, (_, i) =>
      Object.fromEntries(Object.entries(layer(i)).map(([name, sizes]) => [`${start}${i}.${name}`, sizes])),
    ),
  ) as Sizes;
/** Names without "model.", as encoders have them. */
const bare = (of: ToyFolder): ToyFolder => ({
  ...of,
  tensors: of.tensors.map(([name, sizes]) => [name.replace(/^model\./u, ""), sizes]),
});
const pooling = (mode: string): ToyModule => ({
  ...{ path: "1_Pooling", type: "sentence_transformers.models.Pooling", tensors: [] },
  config: { word_embedding_dimension: WIDTH, [`pooling_mode_${mode}`]: true },
});
const dense = (path: string, inner: number, outer: number): ToyModule => ({
  ...{ path, type: "sentence_transformers.models.Dense", tensors: [["linear.weight", [outer, inner]]] },
  config: { in_features: inner, out_features: outer, bias: false, activation_function: "torch.nn.Identity" },
});
const named = (start: string, tensors: Sizes): Sizes =>
  Object.fromEntries(Object.entries(tensors).map(([name, sizes]) => [`${start}${name}`, sizes]));
const bertAttention = (width = WIDTH): Sizes =>
  Object.assign(
    {},
    ...["self.query", "self.key", "self.value", "output.dense"].map((name) =>
      pair(`attention.${name}`, [width, width]),
    ),
    pair("attention.output.LayerNorm", [width]),
  ) as Sizes;
/** A matrix with adapters of two tasks beside it. */
const adapted = (name: string, [rows = 0, columns = 0]: readonly number[]): Sizes => ({
  [`${name}.parametrizations.weight.original`]: [rows, columns],
  [`${name}.parametrizations.weight.0.lora_A`]: [2, 4, columns],
  [`${name}.parametrizations.weight.0.lora_B`]: [2, rows, 4],
});
const JINA_V2: ToyFolder["config"] = {
  ...{ architectures: ["JinaBertModel"], hidden_size: WIDTH, intermediate_size: INNER, num_hidden_layers: 2 },
  ...{ num_attention_heads: 4, max_position_embeddings: 128, layer_norm_eps: 1e-12 },
  ...{ position_embedding_type: "alibi", feed_forward_type: "geglu" },
};
const jina2Tensors = (width: number, layer: (width: number) => Sizes): Sizes => ({
  "embeddings.word_embeddings.weight": [TOY_ROWS, width],
  "embeddings.token_type_embeddings.weight": [2, width],
  ...pair("embeddings.LayerNorm", [width]),
  ...inLayers(2, "encoder.layer.", () => ({ ...bertAttention(width), ...layer(width) })),
});
const toy = (title: string, config: ToyFolder["config"], tensors: Sizes): ToyFolder => ({
  title,
  config: { vocab_size: TOY_ROWS, type_vocab_size: 2, ...config },
  tensors: Object.entries(tensors),
});

/** A model with a head behind it. */
const scoring = (of: ToyFolder | undefined, kind: string, config: ToyFolder["config"], head: Sizes): ToyFolder => ({
  title: `${kind}, scores`,
  config: { ...of?.config, architectures: [kind], ...config },
  tensors: [...(of?.tensors ?? []), ...Object.entries(head)],
});

const titled = (start: string): ToyFolder | undefined => TOY_ENCODERS.find(({ title }) => title.startsWith(start));

export const TOY_ENCODERS: readonly ToyFolder[] = [
  toy(
    "bert",
    {
      ...{ architectures: ["BertModel"], hidden_size: WIDTH, intermediate_size: INNER, num_hidden_layers: 2 },
      ...{ num_attention_heads: 4, max_position_embeddings: 128, layer_norm_eps: 1e-12 },
    },
    {
      "embeddings.word_embeddings.weight": [TOY_ROWS, WIDTH],
      "embeddings.position_embeddings.weight": [128, WIDTH],
      "embeddings.token_type_embeddings.weight": [2, WIDTH],
      ...pair("embeddings.LayerNorm", [WIDTH]),
      ...inLayers(2, "encoder.layer.", () => ({
        ...pair("attention.self.query", [WIDTH, WIDTH]),
        ...pair("attention.self.key", [WIDTH, WIDTH]),
        ...pair("attention.self.value", [WIDTH, WIDTH]),
        ...pair("attention.output.dense", [WIDTH, WIDTH]),
        ...pair("attention.output.LayerNorm", [WIDTH]),
        ...pair("intermediate.dense", [INNER, WIDTH]),
        ...pair("output.dense", [WIDTH, INNER]),
        ...pair("output.LayerNorm", [WIDTH]),
      })),
    },
  ),
  toy(
    "nomic-bert",
    {
      ...{ architectures: ["NomicBertModel"], n_embd: WIDTH, n_inner: INNER, n_layer: 2, n_head: 4, n_positions: 128 },
      ...{ layer_norm_epsilon: 1e-12, rotary_emb_base: 1000, rotary_emb_fraction: 1, prenorm: false },
    },
    {
      "embeddings.word_embeddings.weight": [TOY_ROWS, WIDTH],
      "embeddings.token_type_embeddings.weight": [2, WIDTH],
      ...pair("emb_ln", [WIDTH]),
      ...inLayers(2, "encoder.layers.", () => ({
        "attn.Wqkv.weight": [3 * WIDTH, WIDTH],
        "attn.out_proj.weight": [WIDTH, WIDTH],
        "mlp.fc11.weight": [INNER, WIDTH],
        "mlp.fc12.weight": [INNER, WIDTH],
        "mlp.fc2.weight": [WIDTH, INNER],
        ...pair("norm1", [WIDTH]),
        ...pair("norm2", [WIDTH]),
      })),
    },
  ),
  toy(
    "modern-bert, windows in two layers of three",
    {
      ...{ architectures: ["ModernBertModel"], hidden_size: WIDTH, intermediate_size: INNER, num_hidden_layers: 4 },
      ...{ num_attention_heads: 4, max_position_embeddings: 128, norm_eps: 1e-5, hidden_activation: "gelu" },
      ...{ global_rope_theta: 160_000, local_rope_theta: 10_000, local_attention: 16, global_attn_every_n_layers: 3 },
    },
    {
      "embeddings.tok_embeddings.weight": [TOY_ROWS, WIDTH],
      "embeddings.norm.weight": [WIDTH],
      ...inLayers(4, "layers.", (i) => ({
        ...(i > 0 && { "attn_norm.weight": [WIDTH] }),
        "attn.Wqkv.weight": [3 * WIDTH, WIDTH],
        "attn.Wo.weight": [WIDTH, WIDTH],
        "mlp_norm.weight": [WIDTH],
        "mlp.Wi.weight": [2 * INNER, WIDTH],
        "mlp.Wo.weight": [WIDTH, INNER],
      })),
      "final_norm.weight": [WIDTH],
    },
  ),
  ...TOY_T5_ENCODERS,
  bare(
    folder("llama that sees both ways", "LlamaBidirectionalModel", { rope_scaling: LLAMA3, ...TIED }, (s) => ({
      ...{ ...norms(s, ...TWO), ...attention(s), ...gated(s.width, s.inner) },
    })),
  ),
  toy(
    "distilbert",
    {
      ...{ architectures: ["DistilBertModel"], dim: WIDTH, hidden_dim: INNER, n_layers: 2, n_heads: 4 },
      ...{ max_position_embeddings: 128, activation: "gelu" },
    },
    named("distilbert.", {
      "embeddings.word_embeddings.weight": [TOY_ROWS, WIDTH],
      "embeddings.position_embeddings.weight": [128, WIDTH],
      ...pair("embeddings.LayerNorm", [WIDTH]),
      ...inLayers(2, "transformer.layer.", () => ({
        ...(Object.assign(
          {},
          ...["q", "k", "v", "out"].map((part) => pair(`attention.${part}_lin`, [WIDTH, WIDTH])),
        ) as Sizes),
        ...{ ...pair("sa_layer_norm", [WIDTH]), ...pair("output_layer_norm", [WIDTH]) },
        ...{ ...pair("ffn.lin1", [INNER, WIDTH]), ...pair("ffn.lin2", [WIDTH, INNER]) },
      })),
    }),
  ),
  {
    ...bare(
      folder(
        "gemma-embedding, two matrices behind the mean",
        "Gemma3TextModel",
        {
          ...{ num_hidden_layers: 7, head_dim: 32, query_pre_attn_scalar: 32, sliding_window: 16, ...TIED },
          ...{ rope_theta: 1_000_000, rope_local_base_freq: 10_000, use_bidirectional_attention: true },
        },
        (s) => ({ ...norms(s, ...FOUR), ...attention(s), ...headNorms(s), ...gated(s.width, s.inner) }),
      ),
    ),
    modules: [pooling("mean_tokens"), dense("2_Dense", WIDTH, 160), dense("3_Dense", 160, WIDTH)],
  },
  {
    ...bare(
      folder("qwen3 that makes vectors", "Qwen3ForCausalLM", { head_dim: 32, ...TIED }, (s) => ({
        ...{ ...norms(s, ...TWO), ...attention(s), ...headNorms(s), ...gated(s.width, s.inner) },
      })),
    ),
    modules: [pooling("lasttoken")],
  },
  toy(
    "xlm-roberta, positions behind the padding",
    {
      ...{ architectures: ["XLMRobertaModel"], hidden_size: WIDTH, intermediate_size: INNER, num_hidden_layers: 2 },
      ...{ num_attention_heads: 4, max_position_embeddings: 130, layer_norm_eps: 1e-5, pad_token_id: 1 },
    },
    {
      ...named("roberta.", {
        "embeddings.word_embeddings.weight": [TOY_ROWS, WIDTH],
        "embeddings.position_embeddings.weight": [130, WIDTH],
        "embeddings.token_type_embeddings.weight": [2, WIDTH],
        ...pair("embeddings.LayerNorm", [WIDTH]),
        ...inLayers(2, "encoder.layer.", () => ({
          ...{ ...bertAttention(), ...pair("intermediate.dense", [INNER, WIDTH]) },
          ...{ ...pair("output.dense", [WIDTH, INNER]), ...pair("output.LayerNorm", [WIDTH]) },
        })),
        ...pair("pooler.dense", [WIDTH, WIDTH]),
      }),
    },
  ),
  toy(
    "jina-bert-v2, six heads",
    { ...JINA_V2, num_attention_heads: 6, hidden_size: 96 },
    jina2Tensors(96, (width) => ({
      "mlp.gated_layers.weight": [2 * INNER, width],
      ...pair("mlp.wo", [width, INNER]),
      ...pair("mlp.layernorm", [width]),
    })),
  ),
  toy(
    "jina-bert-v2 for code, norms of q and k",
    JINA_V2,
    jina2Tensors(WIDTH, (width) => ({
      ...{ ...pair("attention.self.layer_norm_q", [width]), ...pair("attention.self.layer_norm_k", [width]) },
      "mlp.up_gated_layer.weight": [2 * INNER, width],
      ...pair("mlp.down_layer", [width, INNER]),
      ...{ ...pair("layer_norm_1", [width]), ...pair("layer_norm_2", [width]) },
    })),
  ),
  toy(
    "jina-bert-v3, adapters beside the weights left out",
    {
      ...{ architectures: ["XLMRobertaModel"], hidden_size: WIDTH, intermediate_size: INNER, num_hidden_layers: 2 },
      ...{ num_attention_heads: 4, max_position_embeddings: 130, layer_norm_eps: 1e-5, pad_token_id: 1 },
      ...{ position_embedding_type: "rotary", rotary_emb_base: 20_000, type_vocab_size: 1 },
      lora_adaptations: ["retrieval.query", "retrieval.passage"],
    },
    named("roberta.", {
      ...adapted("embeddings.word_embeddings", [TOY_ROWS, WIDTH]),
      ...adapted("embeddings.token_type_embeddings", [1, WIDTH]),
      ...pair("emb_ln", [WIDTH]),
      ...inLayers(2, "encoder.layers.", () => ({
        ...{ ...adapted("mixer.Wqkv", [3 * WIDTH, WIDTH]), "mixer.Wqkv.bias": [3 * WIDTH] },
        ...{ ...adapted("mixer.out_proj", [WIDTH, WIDTH]), "mixer.out_proj.bias": [WIDTH] },
        ...{ ...adapted("mlp.fc1", [INNER, WIDTH]), "mlp.fc1.bias": [INNER] },
        ...{ ...adapted("mlp.fc2", [WIDTH, INNER]), "mlp.fc2.bias": [WIDTH] },
        ...{ ...pair("norm1", [WIDTH]), ...pair("norm2", [WIDTH]) },
      })),
      ...adapted("pooler.dense", [WIDTH, WIDTH]),
      "pooler.dense.bias": [WIDTH],
    }),
  ),
  toy(
    "nomic-bert-moe, experts in every other layer",
    {
      ...{ architectures: ["NomicBertModel"], n_embd: WIDTH, n_inner: INNER, n_layer: 2, n_head: 4, n_positions: 128 },
      ...{ layer_norm_epsilon: 1e-5, rotary_emb_base: 10_000, rotary_emb_fraction: 1, prenorm: false },
      ...{ num_experts: 5, moe_top_k: 2, moe_every_n_layers: 2, type_vocab_size: 1 },
    },
    {
      "embeddings.word_embeddings.weight": [TOY_ROWS, WIDTH],
      "embeddings.token_type_embeddings.weight": [1, WIDTH],
      ...pair("emb_ln", [WIDTH]),
      ...inLayers(2, "encoder.layers.", (i) => ({
        ...{ ...pair("attn.Wqkv", [3 * WIDTH, WIDTH]), ...pair("attn.out_proj", [WIDTH, WIDTH]) },
        ...{ ...pair("norm1", [WIDTH]), ...pair("norm2", [WIDTH]) },
        ...(i % 2 === 1
          ? {
              "mlp.router.layer.weight": [5, WIDTH],
              "mlp.experts.mlp.w1": [5 * INNER, WIDTH],
              "mlp.experts.mlp.w2": [5 * INNER, WIDTH],
              "mlp.experts.bias": [WIDTH],
            }
          : { ...pair("mlp.fc1", [INNER, WIDTH]), ...pair("mlp.fc2", [WIDTH, INNER]) }),
      })),
    },
  ),
];

export const TOY_RERANKERS: readonly ToyFolder[] = [
  {
    ...folder("qwen3-reranker, yes or no", "Qwen3ForCausalLM", { head_dim: 32, ...TIED }, (s) => ({
      ...{ ...norms(s, ...TWO), ...attention(s), ...headNorms(s), ...gated(s.width, s.inner) },
    })),
    files: {
      ...toyTokenizer(BYTE_LEVEL, { yes: 290, no: 285 }),
      "README.md": "---\nlicense: apache-2.0\n---\n# Qwen3-Reranker-0.6B\n",
    },
  },

  scoring(
    titled("bert"),
    "BertForSequenceClassification",
    { id2label: { 0: "no", 1: "rather", 2: "yes" } },
    { ...pair("pooler.dense", [WIDTH, WIDTH]), ...pair("classifier", [3, WIDTH]) },
  ),
  scoring(
    titled("xlm-roberta"),
    "XLMRobertaForSequenceClassification",
    { id2label: { 0: "LABEL_0" } },
    { ...pair("classifier.dense", [WIDTH, WIDTH]), ...pair("classifier.out_proj", [1, WIDTH]) },
  ),
  scoring(
    titled("modern-bert"),
    "ModernBertForSequenceClassification",
    { classifier_pooling: "mean", id2label: { 0: "a", 1: "b", 2: "c", 3: "d" } },
    {
      "head.dense.weight": [WIDTH, WIDTH],
      "head.norm.weight": [WIDTH],
      ...pair("classifier", [4, WIDTH]),
    },
  ),
];
