/**
 * The parts that dense decoders are assembled from. Activations are [T, width] (no batch axis: docs/decisions/0005);
 * keys and values live in one state per layer, [kv_heads, capacity, head_dim]. A model file reads like its block:
 * `layer.residual("attention", x, (h) => …)`.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Architecture } from "../formats/gguf/architecture.ts";
import { noTensor, wrongShape } from "../formats/gguf/decoderTensors.ts";
import { GraphBuilder } from "../ir/builder.ts";
import type { Dim, Shape } from "../ir/dim.ts";
import { isPacked } from "../ir/dtype.ts";
import type { Graph, Value, WeightSource } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import { formatType, sameShape, scalar, tensor } from "../ir/type.ts";
import { opTable, typedBuilder } from "../ops/index.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";

export interface ModelOptions {
  /** Positions a cache holds: a number, or the symbol "capacity" with `largestCapacity`. */
  readonly capacity: number | "capacity";
  readonly cacheType: "f16" | "f32";
  /** Most new tokens in one step; memory is planned for it. */
  readonly largestStep: number;
  /** Most rows whose logits are asked for in one step. */
  readonly largestRows: number;
  /** With a symbolic capacity: the largest one. */
  readonly largestCapacity?: number;
}

/** New tokens of a step, and rows of it whose logits are wanted. */
export const TOKENS: Dim = "T";
export const ROWS: Dim = "R";

export const INPUTS = { tokens: "tokens", past: "past", rows: "logit_rows" } as const;
export const LOGITS = "logits";
export const keyState = (layer: number): string => `k.${layer}`;
export const valueState = (layer: number): string => `v.${layer}`;

/** What a decoder's parts are built from. */
export class Decoder {
  readonly architecture: Architecture;
  readonly g: OpBuilder;
  readonly #builder: GraphBuilder;
  readonly #weights: WeightSource;
  readonly #options: ModelOptions;
  readonly #past: Value;
  readonly #rows: Value;
  readonly #tokens: Value;
  readonly #angles: readonly [cos: Value, sin: Value];

  constructor(architecture: Architecture, weights: WeightSource, options: ModelOptions) {
    const builder = new GraphBuilder(opTable, architecture.name);
    this.architecture = architecture;
    this.g = typedBuilder(builder);
    this.#builder = builder;
    this.#weights = weights;
    this.#options = options;
    builder.limitSymbol(String(TOKENS), options.largestStep);
    builder.limitSymbol(String(ROWS), options.largestRows);
    if (options.capacity === "capacity")
      builder.limitSymbol("capacity", options.largestCapacity ?? architecture.context);
    this.#tokens = builder.input(INPUTS.tokens, tensor("i32", [TOKENS]), { label: INPUTS.tokens });
    this.#past = builder.input(INPUTS.past, scalar("i32"), { label: INPUTS.past });
    this.#rows = builder.input(INPUTS.rows, tensor("i32", [ROWS]), { label: INPUTS.rows });
    this.#angles = builder.scoped("positions", () => this.#ropeTables());
  }

  scoped<T>(scope: string, build: () => T): T {
    return this.#builder.scoped(scope, build);
  }

  /** Rows of the embedding matrix for the tokens. */
  embed(): Value {
    return this.scoped("embedding", () => {
      const { vocabulary, width } = this.architecture;
      const table = this.weight("token_embd.weight", [vocabulary, width]);
      return this.#asF32(this.g.gather([table, this.#tokens], { axis: 0 }, "tokens"));
    });
  }

  /** Calls `build` for each layer in its scope, threading the residual stream; with a pause before each. */
  *layers(x: Value, build: (layer: Layer, x: Value) => Value): Steps<Value> {
    let stream = x;
    for (let i = 0; i < this.architecture.layers; i++) {
      yield;
      stream = this.scoped(`blk.${i}`, () => build(new Layer(this, i), stream));
    }
    return stream;
  }

  /** The wanted rows, normed, against the output matrix: the graph's result. */
  head(x: Value): void {
    const { vocabulary, width, tiedEmbedding } = this.architecture;
    const rows = this.scoped("final_norm", () =>
      this.norm(this.g.gather([x, this.#rows], { axis: 0 }, "rows"), "output_norm.weight", width, "norm"),
    );
    this.scoped("head", () => {
      const name = tiedEmbedding ? "token_embd.weight" : "output.weight";
      this.#builder.output(LOGITS, this.g.linear([rows, this.weight(name, [vocabulary, width])], {}, LOGITS));
    });
  }

  finish(): Graph {
    return this.#builder.finish();
  }

  /** A tensor of the file; its shape must be the one the architecture implies. */
  weight(name: string, shape: Shape): Value {
    const type = this.#weights.tensorType(name);
    const who = this.#weights.name ?? this.architecture.name;
    if (!type) throw noTensor(who, name);
    if (!sameShape(type.shape, shape)) throw wrongShape(who, name, formatType(type), shape);
    return this.#builder.param(name, type, { file: this.#weights.identity, tensor: name });
  }

  has(name: string): boolean {
    return this.#weights.tensorType(name) !== undefined;
  }

  /** A norm's scale or a bias, as f32. */
  vector(name: string, size: number): Value {
    return this.#asF32(this.weight(name, [size]));
  }

  norm(x: Value, name: string, size: number, label: string): Value {
    return this.g.rms_norm([x, this.vector(name, size)], { eps: this.architecture.normEpsilon }, label);
  }

  linear(x: Value, name: string, [out, inner]: readonly [number, number], label: string): Value {
    const w = this.weight(`${name}.weight`, [out, inner]);
    const bias = `${name}.bias`;
    return this.g.linear(this.has(bias) ? [x, w, this.vector(bias, out)] : [x, w], {}, label);
  }

  rope(x: Value, label: string): Value {
    const { dims, pairing } = this.architecture.rope;
    return this.g.rope([x, ...this.#angles], { dims, style: pairing === "adjacent" ? "pairs" : "neox" }, label);
  }

  /** Appends k and v to the layer's caches and attends over them: [T, heads, head_dim]. */
  attend(layer: number, q: Value, k: Value, v: Value): Value {
    const keys = this.#append(keyState(layer), k, "k_cache");
    const values = this.#append(valueState(layer), v, "v_cache");
    // Rounded to f32 at each step, as ggml does: with f16 weights the last bit shows, for heads of 96 for instance.
    const scale = Math.fround(1 / Math.fround(Math.sqrt(this.architecture.headDim)));
    return this.g.attention_cached([q, keys, values, this.#past], { scale }, "attention");
  }

  #append(name: string, fresh: Value, label: string): Value {
    const { kvHeads, headDim } = this.architecture;
    const type = tensor(this.#options.cacheType, [kvHeads, this.#options.capacity, headDim]);
    const cache = this.#builder.state(name, type, { label });
    const next = this.g.kv_append([cache, fresh, this.#past], {}, label);
    this.#builder.setState(name, next);
    return next;
  }

  #ropeTables(): readonly [Value, Value] {
    const { dims, base, scaling, attentionFactor, factorsTensor } = this.architecture.rope;
    const positions = this.g.add([this.g.iota([], { shape: [TOKENS], axis: 0 }, "steps"), this.#past], {}, "positions");
    const [cos, sin] = this.g.rope_table(
      factorsTensor === undefined ? [positions] : [positions, this.vector(factorsTensor, dims / 2)],
      {
        dims,
        base,
        scaling: scaling.kind,
        factor: scaling.kind === "none" ? 1 : scaling.factor,
        originalContext: scaling.kind === "yarn" ? scaling.originalContext : 0,
        attentionFactor,
        betaFast: scaling.kind === "yarn" ? scaling.betaFast : 32,
        betaSlow: scaling.kind === "yarn" ? scaling.betaSlow : 1,
      },
      "rope angles",
    );
    if (!cos || !sin) throw new WorkbenchError("BUG_INVARIANT", "[rope_table] expected two outputs");
    return [cos, sin];
  }

  /** Rows of half tables and half vectors are computed with in f32. */
  #asF32(x: Value): Value {
    const { dtype } = this.g.typeOf(x);
    if (dtype === "f32") return x;
    return isPacked(dtype) ? this.g.dequantize([x]) : this.g.cast([x], { to: "f32" });
  }
}

/** One decoder layer: names its tensors `blk.<i>.…`. */
export class Layer {
  readonly #decoder: Decoder;
  readonly #index: number;

  constructor(decoder: Decoder, index: number) {
    this.#decoder = decoder;
    this.#index = index;
  }

  /** x + build(norm(x)), in the scope of the part. */
  residual(part: "attention" | "ffn", x: Value, build: (h: Value) => Value): Value {
    const d = this.#decoder;
    return d.scoped(part, () => {
      const norm = part === "attention" ? "attn_norm" : "ffn_norm";
      const h = d.norm(x, this.#name(`${norm}.weight`), d.architecture.width, "norm");
      return d.g.add([x, build(h)], {}, "residual");
    });
  }

  /** h through attn_q, attn_k or attn_v, as heads [T, heads, head_dim]. */
  project(h: Value, role: "q" | "k" | "v"): Value {
    const d = this.#decoder;
    const { width, headDim } = d.architecture;
    const heads = role === "q" ? d.architecture.heads : d.architecture.kvHeads;
    const flat = d.linear(h, this.#name(`attn_${role}`), [heads * headDim, width], role);
    return d.g.reshape([flat], { shape: [TOKENS, heads, headDim] }, `${role}_heads`);
  }

  /** RMS norm over each head. */
  headNorm(x: Value, role: "q" | "k"): Value {
    const d = this.#decoder;
    return d.norm(x, this.#name(`attn_${role}_norm.weight`), d.architecture.headDim, `${role}_norm`);
  }

  rope(x: Value, role: "q" | "k"): Value {
    return this.#decoder.rope(x, `${role}_rope`);
  }

  /** Cached attention and the output projection. */
  attend(q: Value, k: Value, v: Value): Value {
    const d = this.#decoder;
    const { width, heads, headDim } = d.architecture;
    const mixed = d.attend(this.#index, q, k, v);
    const flat = d.g.reshape([mixed], { shape: [TOKENS, heads * headDim] }, "merge_heads");
    return d.linear(flat, this.#name("attn_output"), [width, heads * headDim], "output");
  }

  /** down(silu(gate(h)) · up(h)). */
  gatedFeedForward(h: Value): Value {
    const d = this.#decoder;
    const { width, feedForward } = d.architecture;
    const gate = d.linear(h, this.#name("ffn_gate"), [feedForward, width], "gate");
    const up = d.linear(h, this.#name("ffn_up"), [feedForward, width], "up");
    const mixed = d.g.mul([d.g.silu([gate], {}, "activation"), up], {}, "gated");
    return d.linear(mixed, this.#name("ffn_down"), [width, feedForward], "down");
  }

  #name(tensorName: string): string {
    return `blk.${this.#index}.${tensorName}`;
  }
}
