/**
 * The parts that dense decoders are assembled from. Keys and values live in one state per layer,
 * [kv_heads, capacity, head_dim]. A family's file reads like its block: norms, heads, rope,
 * attention, feed-forward.
 */
import { invariant } from "../diagnostics/errors.ts";
import type { Graph, Value, WeightSource } from "../ir/graph.ts";
import { staticDim } from "../ir/dim.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { Steps } from "../ir/steps.ts";
import type { AttentionRules, Heads, ModelGraph, ModelOptions, RopeAngles, SharedHeads } from "./blocks.ts";
import { TOKENS } from "./blocks.ts";
import { Decoder } from "./decoder.ts";
import type { DenseHyper } from "./dense.ts";
import type { XieluAttrs } from "../ops/unary/xielu.ts";
import type { Activation } from "./activation.ts";
import { activate } from "./activation.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { mixture } from "./experts.ts";
import { three, two } from "./parts.ts";
import type { Rope } from "./rope.ts";

/** A decoder of blocks that look alike; `block` builds one of them, `begin` what comes before the first, `end` behind the last. */
export const denseGraph = (
  h: DenseHyper,
  weights: WeightSource,
  options: ModelOptions,
  block: (layer: DenseLayer<Decoder>, x: Value, d: Decoder) => Value,
  begin?: (d: Decoder, x: Value) => Value,
  end?: (d: Decoder, x: Value) => Value,
): Steps<Graph> => denseLayers(new Decoder(h, weights, options), h, block, begin, end);

/** The same blocks over a graph that was begun: of a step, or of a whole text. */
export function* denseLayers<G extends ModelGraph>(
  d: G,
  h: DenseHyper,
  block: (layer: DenseLayer<G>, x: Value, d: G) => Value,
  begin: (d: G, x: Value) => Value = (_, x) => x,
  end: (d: G, x: Value) => Value = (_, x) => x,
): Steps<Graph> {
  const angles = new Map<Rope, RopeAngles>();
  const anglesOf = (rope: Rope): RopeAngles => {
    const made = angles.get(rope) ?? d.scoped("positions", () => d.ropeAngles(rope));
    angles.set(rope, made);
    return made;
  };
  if (h.rope.dims > 0) anglesOf(h.rope);
  const { temperature } = h;
  const temperatures = temperature && d.scoped("positions", () => d.temperatures(temperature));
  const rows = d.embed();
  const scale = h.scales?.embedding ?? 1;
  const first = begin(d, scale === 1 ? rows : d.scoped("embedding", () => scaled(d, rows, scale, "scaled")));
  const x = yield* d.layers(first, (index, stream) =>
    block(new DenseLayer(d, { ...h, ...h.ofLayer?.(index) }, { anglesOf, temperatures }, index), stream, d),
  );
  d.head(end(d, x), h.scales, h.lastNorm);
  return d.finish();
}

export const scaled = (d: ModelGraph, x: Value, by: number, label: string): Value =>
  by === 1 ? x : d.g.mul([x, d.g.constant(hostScalar("f32", Math.fround(by)))], {}, label);

/** What layers take from the positions of a step or text. */
interface Positions {
  readonly anglesOf: (rope: Rope) => RopeAngles;
  readonly temperatures: Value | undefined;
}

/** The branches of a layer; `cross` looks at what an encoder read. */
type Part = "attention" | "cross" | "ffn";

const PART_NORMS: Readonly<Record<Part, string>> = {
  attention: "attn_norm",
  cross: "cross_attn_norm",
  ffn: "ffn_norm",
};

/** Where a layer stands. */
export interface LayerPlace<G extends ModelGraph = Decoder> {
  readonly d: G;
  readonly index: number;
  /** "blk.3." */
  readonly block: string;
}

/** One layer: names its tensors `blk.<i>.…`. */
export class DenseLayer<G extends ModelGraph = ModelGraph> {
  readonly index: number;
  readonly #decoder: G;
  readonly #hyper: DenseHyper;
  readonly #positions: Positions;

  constructor(decoder: G, hyper: DenseHyper, positions: Positions, index: number) {
    this.#decoder = decoder;
    this.#hyper = hyper;
    this.#positions = positions;
    this.index = index;
  }

  /** For parts that dense layers do not have: the decoder, and what the layer's tensors begin with. */
  get place(): LayerPlace<G> {
    return { d: this.#decoder, index: this.index, block: this.#name("") };
  }

  part(name: Part, build: () => Value): Value {
    return this.#decoder.scoped(name, build);
  }

  /** x + build(norm(x)), in the scope of the part. */
  residual(part: Part, x: Value, build: (h: Value) => Value, norm = PART_NORMS[part]): Value {
    return this.part(part, () => this.add(x, build(this.norm(x, norm, "norm"))));
  }

  /** x + attention(norm(x)), and to that feedForward(norm(…)). */
  preNorm(
    x: Value,
    attention: (input: Value) => Value,
    feedForward: (input: Value) => Value = (input) => this.gatedFeedForward(input),
  ): Value {
    return this.residual("ffn", this.residual("attention", x, attention), feedForward);
  }

  /** x + norm(attention(x)), and to that norm(feedForward(…)). */
  postNorm(
    x: Value,
    attention: (input: Value) => Value,
    feedForward: (input: Value) => Value = (input) => this.gatedFeedForward(input),
  ): Value {
    const attended = this.part("attention", () => this.add(x, this.#postNorm(attention(x), "post_attention_norm")));
    return this.part("ffn", () => this.add(attended, this.#postNorm(feedForward(attended), "post_ffw_norm")));
  }

  /** Norms before and behind each branch. */
  sandwich(
    x: Value,
    attention: (input: Value) => Value,
    feedForward: (input: Value) => Value = (input) => this.gatedFeedForward(input),
  ): Value {
    return this.postNorm(
      x,
      (input) => attention(this.norm(input, "attn_norm", "norm")),
      (input) => feedForward(this.norm(input, "ffn_norm", "norm")),
    );
  }

  /** x + attention(norm(x)) + feedForward(norm(x)), from one norm. */
  parallel(x: Value, attention: (input: Value) => Value, feedForward: (input: Value) => Value): Value {
    const input = this.norm(x, "attn_norm", "norm");
    const attended = this.part("attention", () => this.add(x, attention(input)));
    return this.part("ffn", () => this.add(attended, feedForward(input)));
  }

  /** The stream with a branch's result. */
  add(x: Value, branch: Value): Value {
    const d = this.#decoder;
    return d.g.add([x, scaled(d, branch, this.#hyper.scales?.residual ?? 1, "branch")], {}, "residual");
  }

  norm(x: Value, name: string, label = name): Value {
    return this.#decoder.norm(x, this.#name(name), this.#hyper.width, label);
  }

  #postNorm(x: Value, name: string): Value {
    return this.#decoder.norm(x, this.#name(name), this.#hyper.width, name, this.#hyper.postNormEpsilon);
  }

  /** True where only the newest positions are seen. */
  get isLocal(): boolean {
    return this.#hyper.windows?.isLocal(this.index) ?? false;
  }

  has(name: string): boolean {
    return this.#decoder.has(this.#name(name));
  }

  get g(): OpBuilder {
    return this.#decoder.g;
  }

  /** A product with one of the layer's matrices, [out, inner]. */
  linear(x: Value, name: string, shape: readonly [number, number], label: string): Value {
    return this.#decoder.linear(x, this.#name(name), shape, label);
  }

  /** The same without what may stand beside the matrix. */
  bareLinear(x: Value, name: string, shape: readonly [number, number], label: string): Value {
    return this.g.linear([x, this.#decoder.weight(this.#name(`${name}.weight`), shape)], {}, label);
  }

  /** One of the layer's vectors, as f32; the whole name. */
  vector(name: string, size: number): Value {
    return this.#decoder.vector(this.#name(name), size);
  }

  /** The norm over the width, without a weight. */
  plainNorm(x: Value, label: string): Value {
    return this.#decoder.plainNorm(x, this.#hyper.width, label);
  }

  scoped(scope: string, build: () => Value): Value {
    return this.#decoder.scoped(scope, build);
  }

  /** q, k and v as heads [T, heads, head_dim], from one matrix or from three. */
  heads(h: Value): Heads {
    if (!this.has("attn_qkv.weight"))
      return { q: this.project(h, "q"), k: this.project(h, "k"), v: this.project(h, "v") };
    const d = this.#decoder;
    const { width, heads, kvHeads, headDim } = this.#hyper;
    const [queries, keys] = [heads * headDim, kvHeads * headDim];
    const flat = d.linear(h, this.#name("attn_qkv"), [queries + 2 * keys, width], "qkv");
    const [q, k, v] = three(d.g, this.#clamped(flat), [queries, keys, keys], "q_k_v");
    return { q: this.#asHeads(q, "q"), k: this.#asHeads(k, "k"), v: this.#asHeads(v, "v") };
  }

  /** The same, with a gate for what the heads give: of each head, q comes first and its gate behind it. */
  gatedHeads(h: Value): Heads & { readonly gate: Value } {
    const d = this.#decoder;
    const { width, heads, headDim } = this.#hyper;
    const flat = d.linear(h, this.#name("attn_q"), [2 * heads * headDim, width], "q_and_gate");
    const both = d.g.reshape([flat], { shape: [TOKENS, heads, 2 * headDim] });
    const [q, gate] = two(d.g, both, [headDim, headDim], "q_gate");
    return { q, k: this.project(h, "k"), v: this.project(h, "v"), gate };
  }

  /** A gate for what each head gives, from a matrix of its own: [T, heads, head_dim]. */
  gate(h: Value): Value {
    const d = this.#decoder;
    const { width, heads, headDim } = this.#hyper;
    const flat = d.linear(h, this.#name("attn_gate"), [heads * headDim, width], "gate");
    return d.g.reshape([flat], { shape: [TOKENS, heads, headDim] }, "gate_heads");
  }

  /** h through attn_q, attn_k or attn_v, as heads [T, heads, head_dim]. */
  project(h: Value, role: "q" | "k" | "v"): Value {
    return this.#asHeads(this.#clamped(this.#flat(h, role)), role);
  }

  /** A norm over each head; the heads share its weight, or have one each. */
  headNorm(x: Value, role: "q" | "k", weights: "shared" | "each" = "shared"): Value {
    const d = this.#decoder;
    const { headDim } = this.#hyper;
    const name = this.#name(`attn_${role}_norm`);
    return weights === "each"
      ? d.normEach(x, name, [this.#headCount(role), headDim], `${role}_norm`)
      : d.norm(x, name, headDim, `${role}_norm`);
  }

  /** q and k normed head by head, without weights. */
  plainlyNormed({ q, k, v }: Heads): Heads {
    const norm = (x: Value, role: "q" | "k"): Value => this.#decoder.plainNorm(x, this.#hyper.headDim, `${role}_norm`);
    return { q: norm(q, "q"), k: norm(k, "k"), v };
  }

  /** Values normed head by head, without a weight. */
  valueNorm(v: Value): Value {
    return this.#decoder.plainNorm(v, this.#hyper.headDim, "v_norm");
  }

  /** q and k normed head by head. */
  normed({ q, k, v }: Heads): Heads {
    return { q: this.headNorm(q, "q"), k: this.headNorm(k, "k"), v };
  }

  /** The same in files that have weights for it; `each` head may have its own. */
  normedIfGiven(heads: Heads, weights: "shared" | "each" = "shared"): Heads {
    const norm = (x: Value, role: "q" | "k"): Value =>
      this.has(`attn_${role}_norm.weight`) ? this.headNorm(x, role, weights) : x;
    return { q: norm(heads.q, "q"), k: norm(heads.k, "k"), v: heads.v };
  }

  /** q, k and v with q and k normed over their full width, before they become heads. */
  wideNormed(h: Value): Heads {
    return { q: this.#projectNormed(h, "q"), k: this.#projectNormed(h, "k"), v: this.project(h, "v") };
  }

  /** The first dimensions of each head turned; their pairs are the model's, or as said. */
  rope(x: Value, role: "q" | "k", pairing?: Rope["pairing"]): Value {
    const { rope: everywhere, localRope } = this.#hyper;
    const rope = this.isLocal ? (localRope ?? everywhere) : everywhere;
    const style = (pairing ?? rope.pairing) === "adjacent" ? "pairs" : "neox";
    return this.#decoder.g.rope([x, ...this.#positions.anglesOf(rope)], { dims: rope.dims, style }, `${role}_rope`);
  }

  /** q and k normed over their full width, in files that have weights for it. */
  wideNormedIfGiven({ q, k, v }: Heads): Heads {
    const d = this.#decoder;
    const norm = (x: Value, role: "q" | "k"): Value => {
      if (!this.has(`attn_${role}_norm.weight`)) return x;
      const size = this.#headCount(role) * this.#hyper.headDim;
      const flat = d.g.reshape([x], { shape: [TOKENS, size] });
      return this.#asHeads(d.norm(flat, this.#name(`attn_${role}_norm`), size, `${role}_norm`), role);
    };
    return { q: norm(q, "q"), k: norm(k, "k"), v };
  }

  /** q and k turned by their positions. */
  turned({ q, k, v }: Heads): Heads {
    return { q: this.rope(q, "q"), k: this.rope(k, "k"), v };
  }

  /** Queries multiplied by the temperatures of their positions, in files that have one. */
  warmed<H extends SharedHeads>(heads: H): H {
    const { temperatures } = this.#positions;
    return temperatures === undefined
      ? heads
      : { ...heads, q: this.#decoder.g.mul([heads.q, temperatures], {}, "q_warmed") };
  }

  /** Attends over what the layer sees, and projects to the width. */
  attend(heads: Heads | SharedHeads, softmax: "plain" | "with sinks" = "plain"): Value {
    return this.output(this.mixed(heads, softmax));
  }

  /** The same with a gate for each result of each head. */
  attendGated(heads: Heads, gate: Value): Value {
    return this.outputGated(this.mixed(heads), gate);
  }

  /** What the heads saw through a gate, projected to the width. */
  outputGated(mixed: Value, gate: Value): Value {
    const { g } = this.#decoder;
    return this.output(g.mul([mixed, g.sigmoid([gate], {}, "open")], {}, "gated"));
  }

  /** Attends over the caches of an earlier layer, and projects to the width: this layer has none. */
  attendOverLayer(this: DenseLayer<Decoder>, q: Value, layer: number): Value {
    return this.output(this.#decoder.attendOverLayer(layer, q, this.#attentionRules()));
  }

  /** Attends over what the layer sees: [T, heads, size of a value]. */
  mixed(heads: Heads | SharedHeads, softmax: "plain" | "with sinks" = "plain"): Value {
    return this.#decoder.attend(this.index, heads, {
      ...this.#attentionRules(),
      ...(softmax === "with sinks" && { sinks: this.#name("attn_sinks.weight") }),
    });
  }

  /** The same over what `bias` [T, capacity] leaves of the scores. */
  mixedBiased(this: DenseLayer<Decoder>, heads: Heads | SharedHeads, bias: Value): Value {
    return this.#decoder.attendBiased(this.index, heads, bias, this.#attentionRules().scale);
  }

  #attentionRules(): AttentionRules {
    const { headDim, attentionScale, attentionCap, windows } = this.#hyper;
    const isChunk = this.isLocal && windows?.isChunked === true;
    return {
      // Rounded to f32 at each step, as ggml does: with f16 weights the last bit shows, for heads of 96 for instance.
      scale: attentionScale ?? Math.fround(1 / Math.fround(Math.sqrt(headDim))),
      ...(attentionCap !== undefined && { softcap: attentionCap }),
      ...(this.isLocal && windows !== undefined && (isChunk ? { chunk: windows.size } : { window: windows.size - 1 })),
    };
  }

  /** What the heads saw, [T, heads, size of a value], projected to the width. */
  output(mixed: Value): Value {
    const d = this.#decoder;
    const { width, heads } = this.#hyper;
    const inner = heads * staticDim(d.g.typeOf(mixed).shape[2] ?? 0, "attention");
    const flat = d.g.reshape([mixed], { shape: [TOKENS, inner] }, "merge_heads");
    const product = this.#hyper.outputBias === false ? d.product.bind(d) : d.linear.bind(d);
    return product(flat, this.#name(this.#hyper.names?.output ?? "attn_output"), [width, inner], "output");
  }

  /** down(act(gate(h)) · up(h)), or the layer's experts. */
  gatedFeedForward(h: Value, activation: Activation = "silu"): Value {
    const d = this.#decoder;
    const { experts } = this.#hyper;
    if (experts?.isMixture(this.index) === true) return mixture(d, experts, this.#name(""), h);
    return this.denseFeedForward(h, (gate) => activate(d.g, gate, activation));
  }

  /** The layer's experts; `logits` makes what they are picked by, in families whose router does not read h. */
  experts(h: Value, logits: () => Value): Value {
    const { experts } = this.#hyper;
    invariant(experts, `layer ${this.index} has no experts`);
    return mixture(this.#decoder, experts, this.#name(""), h, logits);
  }

  /** down(act(gate(h)) · up(h)), also in a layer with experts. */
  denseFeedForward(h: Value, activated: (gate: Value) => Value): Value {
    const d = this.#decoder;
    const { gate, up } = this.#gateAndUp(h);
    return this.#down(d.g.mul([activated(gate), up], {}, "gated"));
  }

  /** down(act(up(h))), or the layer's experts. */
  feedForward(h: Value, activation: Activation | XieluAttrs): Value {
    const d = this.#decoder;
    const { width, feedForward, experts } = this.#hyper;
    if (experts?.isMixture(this.index) === true) return mixture(d, experts, this.#name(""), h);
    const up = d.linear(h, this.#name("ffn_up"), [feedForward, width], "up");
    return this.#down(activate(d.g, up, activation));
  }

  /** From a matrix each, or from one whose first half is the gate. */
  #gateAndUp(h: Value): { gate: Value; up: Value } {
    const d = this.#decoder;
    const { width, feedForward, fusedGate } = this.#hyper;
    if (fusedGate !== true)
      return {
        gate: d.linear(h, this.#name("ffn_gate"), [feedForward, width], "gate"),
        up: d.linear(h, this.#name("ffn_up"), [feedForward, width], "up"),
      };
    const both = d.linear(h, this.#name("ffn_up"), [2 * feedForward, width], "gate_up");
    const [gate, up] = two(d.g, both, [feedForward, feedForward], "gate_and_up");
    return { gate, up };
  }

  #down(x: Value): Value {
    const { width, feedForward } = this.#hyper;
    return this.#decoder.linear(x, this.#name("ffn_down"), [width, feedForward], "down");
  }

  #projectNormed(h: Value, role: "q" | "k"): Value {
    const size = this.#headCount(role) * this.#hyper.headDim;
    const flat = this.#flat(h, role);
    return this.#asHeads(this.#decoder.norm(flat, this.#name(`attn_${role}_norm`), size, `${role}_norm`), role);
  }

  #flat(h: Value, role: "q" | "k" | "v"): Value {
    const size = this.#headCount(role) * this.#hyper.headDim;
    return this.#decoder.linear(h, this.#name(`attn_${role}`), [size, this.#hyper.width], role);
  }

  #asHeads(flat: Value, role: "q" | "k" | "v"): Value {
    const shape = [TOKENS, this.#headCount(role), this.#hyper.headDim];
    return this.#decoder.g.reshape([flat], { shape }, `${role}_heads`);
  }

  #clamped(x: Value): Value {
    const { g } = this.#decoder;
    const { clamp } = this.#hyper;
    if (clamp === undefined) return x;
    const high = Math.fround(clamp);
    return g.clamp([x], { low: -high, high }, "clamped");
  }

  #headCount(role: "q" | "k" | "v"): number {
    return role === "q" ? this.#hyper.heads : this.#hyper.kvHeads;
  }

  #name(tensorName: string): string {
    return `${this.#hyper.names?.block ?? "blk"}.${this.index}.${tensorName}`;
  }
}
