/** What toy folders of Hugging Face are put together from: sizes, tensors of a layer, the tensors around the layers. */
import type { OracleValue } from "./oracleProcess.ts";

export interface ToyFolder {
  readonly title: string;
  readonly config: Readonly<Record<string, OracleValue>>;
  readonly tensors: readonly (readonly [name: string, sizes: readonly number[]])[];
  readonly dtype?: "F32" | "F16" | "BF16";
  readonly shards?: number;
  /** Tokens that an encoder reads before the decoder writes. */
  readonly source?: readonly number[];
  /** What sentence-transformers puts behind the model. */
  readonly modules?: readonly ToyModule[];
  /** Files beside it, by their names: text, or what becomes JSON. */
  readonly files?: Readonly<Record<string, OracleValue>>;
}

export interface ToyModule {
  readonly path: string;
  readonly type: string;
  readonly config: Readonly<Record<string, OracleValue>>;
  readonly tensors: readonly (readonly [name: string, sizes: readonly number[]])[];
}

export type Sizes = Readonly<Record<string, readonly number[]>>;
export type Config = Readonly<Record<string, OracleValue>>;

export const TOY_ROWS = 304;
export const SIZES = {
  vocab_size: TOY_ROWS,
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 256,
  rms_norm_eps: 1e-5,
} as const;

export interface Shape {
  readonly width: number;
  readonly inner: number;
  readonly q: number;
  readonly kv: number;
  readonly head: number;
  readonly layers: number;
}

export function shapeOf(config: Config): Shape {
  const n = (key: string): number => Number(config[key]);
  const head = config["head_dim"] === undefined ? n("hidden_size") / n("num_attention_heads") : n("head_dim");
  return {
    width: n("hidden_size"),
    inner: n("intermediate_size"),
    q: n("num_attention_heads") * head,
    kv: n("num_key_value_heads") * head,
    head,
    layers: n("num_hidden_layers"),
  };
}

export const attention = ({ width, q, kv }: Shape): Sizes => ({
  "self_attn.q_proj.weight": [q, width],
  "self_attn.k_proj.weight": [kv, width],
  "self_attn.v_proj.weight": [kv, width],
  "self_attn.o_proj.weight": [width, q],
});
export const biases = ({ q, kv }: Shape): Sizes => ({
  "self_attn.q_proj.bias": [q],
  "self_attn.k_proj.bias": [kv],
  "self_attn.v_proj.bias": [kv],
});
export const headNorms = ({ head }: Shape): Sizes => ({
  "self_attn.q_norm.weight": [head],
  "self_attn.k_norm.weight": [head],
});
export const gated = (width: number, inner: number, at = "mlp."): Sizes => ({
  [`${at}gate_proj.weight`]: [inner, width],
  [`${at}up_proj.weight`]: [inner, width],
  [`${at}down_proj.weight`]: [width, inner],
});
export const norms = ({ width }: Shape, ...names: readonly string[]): Sizes =>
  Object.fromEntries(names.map((name) => [`${name}.weight`, [width]]));
export const TWO = ["input_layernorm", "post_attention_layernorm"];
export const FOUR = [...TWO, "pre_feedforward_layernorm", "post_feedforward_layernorm"];

export function folder(
  title: string,
  kind: string,
  more: Config,
  layer: (s: Shape, config: Config, index: number) => Sizes,
  rest: Partial<ToyFolder> = {},
): ToyFolder {
  const config: Config = { architectures: [kind], ...SIZES, ...more };
  const shape = shapeOf(config);
  const table = [TOY_ROWS, shape.width];
  return {
    title,
    config,
    tensors: [
      ["model.embed_tokens.weight", table],
      ...Array.from({ length: shape.layers }, (_, i) =>
        Object.entries(layer(shape, config, i)).map(([name, sizes]) => [`model.layers.${i}.${name}`, sizes] as const),
      ).flat(),
      ["model.norm.weight", [shape.width]],
      ...(more["tie_word_embeddings"] === true ? [] : [["lm_head.weight", table] as const]),
    ],
    ...rest,
  };
}

export const dense = (s: Shape): Sizes => ({ ...norms(s, ...TWO), ...attention(s), ...gated(s.width, s.inner) });
export const TIED = { tie_word_embeddings: true };
export const manyExperts = (count: number, one: (at: string) => Sizes): Sizes =>
  Object.assign({}, ...Array.from({ length: count }, (_, e) => one(`experts.${e}.`))) as Sizes;
export const MOE = { num_experts: 5, num_experts_per_tok: 2, moe_intermediate_size: 32 };
export const experts = (s: Shape): Sizes => ({
  "mlp.gate.weight": [5, s.width],
  ...manyExperts(5, (at) => gated(s.width, 32, `mlp.${at}`)),
});
export const LLAMA3 = {
  rope_type: "llama3",
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 64,
};
