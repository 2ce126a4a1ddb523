/**
 * The parts that dense decoders are assembled from. Keys and values live in one state per layer,
 * [kv_heads, capacity, head_dim]. A family's file reads like its block: `layer.residual("attention", x, (h) => …)`.
 */
import type { Graph, Value, WeightSource } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import { tensor } from "../ir/type.ts";
import type { ModelOptions, RopeAngles } from "./blocks.ts";
import { Decoder, TOKENS } from "./blocks.ts";
import type { DenseHyper } from "./dense.ts";
import { mixture } from "./experts.ts";

/** A decoder of equal blocks; `block` builds one of them. */
export function* denseGraph(
  h: DenseHyper,
  weights: WeightSource,
  options: ModelOptions,
  block: (layer: DenseLayer, x: Value) => Value,
): Steps<Graph> {
  const d = new Decoder(h, weights, options);
  const angles = d.scoped("positions", () => d.ropeAngles(h.rope));
  const x = yield* d.layers(d.embed(), (index, stream) => block(new DenseLayer(d, h, angles, index), stream));
  d.head(x);
  return d.finish();
}

/** One decoder layer: names its tensors `blk.<i>.…`, its caches `k.<i>` and `v.<i>`. */
export class DenseLayer {
  readonly #decoder: Decoder;
  readonly #hyper: DenseHyper;
  readonly #angles: RopeAngles;
  readonly #index: number;

  constructor(decoder: Decoder, hyper: DenseHyper, angles: RopeAngles, index: number) {
    this.#decoder = decoder;
    this.#hyper = hyper;
    this.#angles = angles;
    this.#index = index;
  }

  /** x + build(norm(x)), in the scope of the part. */
  residual(part: "attention" | "ffn", x: Value, build: (h: Value) => Value): Value {
    const d = this.#decoder;
    return d.scoped(part, () => {
      const norm = part === "attention" ? "attn_norm" : "ffn_norm";
      const h = d.norm(x, this.#name(`${norm}.weight`), this.#hyper.width, "norm");
      return d.g.add([x, build(h)], {}, "residual");
    });
  }

  /** h through attn_q, attn_k or attn_v, as heads [T, heads, head_dim]. */
  project(h: Value, role: "q" | "k" | "v"): Value {
    const d = this.#decoder;
    const { width, headDim } = this.#hyper;
    const heads = role === "q" ? this.#hyper.heads : this.#hyper.kvHeads;
    const flat = d.linear(h, this.#name(`attn_${role}`), [heads * headDim, width], role);
    return d.g.reshape([flat], { shape: [TOKENS, heads, headDim] }, `${role}_heads`);
  }

  /** RMS norm over each head. */
  headNorm(x: Value, role: "q" | "k"): Value {
    return this.#decoder.norm(x, this.#name(`attn_${role}_norm.weight`), this.#hyper.headDim, `${role}_norm`);
  }

  rope(x: Value, role: "q" | "k"): Value {
    const { dims, pairing } = this.#hyper.rope;
    const style = pairing === "adjacent" ? "pairs" : "neox";
    return this.#decoder.g.rope([x, ...this.#angles], { dims, style }, `${role}_rope`);
  }

  /** Appends k and v to the layer's caches, attends over them, and projects to the width. */
  attend(q: Value, k: Value, v: Value): Value {
    const d = this.#decoder;
    const { width, heads, headDim } = this.#hyper;
    const keys = this.#cached("k", k);
    const values = this.#cached("v", v);
    // Rounded to f32 at each step, as ggml does: with f16 weights the last bit shows, for heads of 96 for instance.
    const scale = Math.fround(1 / Math.fround(Math.sqrt(headDim)));
    const mixed = d.g.attention_cached([q, keys, values, d.past], { scale }, "attention");
    const flat = d.g.reshape([mixed], { shape: [TOKENS, heads * headDim] }, "merge_heads");
    return d.linear(flat, this.#name("attn_output"), [width, heads * headDim], "output");
  }

  /** down(silu(gate(h)) · up(h)), or the layer's experts. */
  gatedFeedForward(h: Value): Value {
    const d = this.#decoder;
    const { width, feedForward, experts } = this.#hyper;
    if (experts !== undefined && this.#index >= experts.denseLayers) return mixture(d, experts, this.#name(""), h);
    const gate = d.linear(h, this.#name("ffn_gate"), [feedForward, width], "gate");
    const up = d.linear(h, this.#name("ffn_up"), [feedForward, width], "up");
    const mixed = d.g.mul([d.g.silu([gate], {}, "activation"), up], {}, "gated");
    return d.linear(mixed, this.#name("ffn_down"), [width, feedForward], "down");
  }

  #cached(role: "k" | "v", fresh: Value): Value {
    const d = this.#decoder;
    const { kvHeads, headDim } = this.#hyper;
    const type = tensor(d.cache.cacheType, [kvHeads, d.cache.capacity, headDim]);
    const label = `${role}_cache`;
    return d.state(`${role}.${this.#index}`, type, { label, rewind: "positions" }, (cache) =>
      d.g.kv_append([cache, fresh, d.past], {}, label),
    );
  }

  #name(tensorName: string): string {
    return `blk.${this.#index}.${tensorName}`;
  }
}
