/**
 * The graph of a whole text: `tokens` i32[T] and `length` i32[] in, `embedding` out, no caches. Every
 * token may see every other, or those before it; rows from `length` on are padding that no token sees, so that
 * a graph of a fixed size serves shorter texts. What makes one vector of the tokens' rows is the pooling.
 */
import { invariant } from "../diagnostics/errors.ts";
import type { Dim } from "../ir/dim.ts";
import type { Value, WeightSource } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import { scalar } from "../ir/type.ts";
import { alibiSlopes } from "../ops/families/attention.ts";
import { maskedScore } from "../ops/families/constants.ts";
import type { Activation } from "./activation.ts";
import { activate } from "./activation.ts";
import type { AttentionAttrs } from "../ops/attention/attention.ts";
import type { AttentionRules, GraphSizes, Heads } from "./blocks.ts";
import { INPUTS, ModelGraph, TOKENS, attendWhole } from "./blocks.ts";
import type { EmbedOptions } from "./family.ts";

export const EMBEDDING = "embedding";

/** Scores of a text: which row they come from, and what stands between the first matrix and the last. */
export interface RankHead {
  readonly row: "first" | "last" | "mean";
  /** Behind `cls`, in files that have it. */
  readonly activation: Activation | "tanh";
  /** Scores become shares that add up to 1. */
  readonly softmax: boolean;
  /** Rows of `cls`; its width when absent. */
  readonly inner?: number;
  readonly labels: number;
}

/** Sizes of two matrices behind the pooling, in files that have them. */
export interface Projection {
  readonly inner: number;
}

/** Added to the scores of a layer. */
export interface ScoreBias {
  /** Layers that name the same share one. */
  readonly name: string;
  /** [heads, T, T], from what a key's position is away from the query's. */
  readonly scores: (distance: Value, heads: number) => Value;
}

export interface TextRules {
  /** A token sees those before it, or all of them. */
  readonly sight: "causal" | "both ways";
  readonly bias?: (d: ModelGraph, layer: number) => ScoreBias;
  /** Scores fall with the distance, as if positions were told by forgetting: the largest bias of ALiBi. */
  readonly alibi?: number;
  readonly rank?: RankHead | undefined;
  readonly projection?: Projection | undefined;
  /** The norm behind the last layer; none without it. */
  readonly finalNorm?: string;
}

export class TextGraph extends ModelGraph {
  /** Tokens of the text; those behind it are padding. */
  readonly length: Value;
  readonly #options: EmbedOptions;
  readonly #rules: TextRules;
  readonly #masks = new Map<string, Value>();

  constructor(sizes: GraphSizes, weights: WeightSource, options: EmbedOptions, rules: TextRules) {
    super(sizes, weights, options.largestText);
    this.#options = options;
    this.#rules = rules;
    this.length = this.builder.input(INPUTS.length, scalar("i32"), { label: INPUTS.length });
  }

  positions(): Value {
    return this.g.iota([], { shape: [TOKENS], axis: 0 }, "positions");
  }

  protected room(): Dim {
    return TOKENS;
  }

  attend(layer: number, { q, k, v }: Heads, { scale, softcap, window }: AttentionRules): Value {
    const { g } = this;
    const [, heads = 0] = g.typeOf(q).shape;
    const standing = (x: Value): Value => {
      const [, count = 0, width = 0] = g.typeOf(x).shape;
      return g.reshape([g.transpose([x], { perm: [1, 0, 2] })], { shape: [1, count, TOKENS, width] });
    };
    const attrs = { scale, ...(softcap !== undefined && { softcap }), ...this.#slopes(heads) };
    const [kind, mask] = this.#seen(layer, window, typeof heads === "number" ? heads : 0);
    return attendWhole(g, q, [standing(k), standing(v)], { ...attrs, ...kind }, mask);
  }

  #slopes(heads: Dim): Pick<AttentionAttrs, "slopes"> {
    const { alibi } = this.#rules;
    return alibi === undefined || typeof heads !== "number" ? {} : { slopes: alibiSlopes(heads, alibi) };
  }

  /** What each token sees: a kind of mask, with the mask itself where it has one. */
  #seen(
    layer: number,
    window: number | undefined,
    heads: number,
  ): readonly [kind: Pick<AttentionAttrs, "mask" | "window">, mask?: Value] {
    // Padding lies behind the text, where a causal token does not look.
    if (this.#rules.sight === "causal")
      return [window === undefined ? { mask: "causal" } : { mask: "sliding", window }];
    const bias = this.#rules.bias?.(this, layer);
    const name = bias?.name ?? "";
    const mask = this.#masks.get(name) ?? this.scoped("mask", () => this.#mask(bias, heads));
    this.#masks.set(name, mask);
    if (window === undefined) return [{ mask: bias === undefined ? "custom" : "bias" }, mask];
    invariant(bias === undefined, "no family has both a bias and a window");
    // `window` does not count the query's own position: a window of n + 1 looks ⌊(n + 1) / 2⌋ to each side.
    return [{ mask: "symmetric", window: Math.floor((window + 1) / 2) }, mask];
  }

  /** Which tokens belong to the text: bool [1, T]; with a bias, what is added to the scores. */
  #mask(bias: ScoreBias | undefined, heads: number): Value {
    const { g } = this;
    const inText = g.compare([this.positions(), this.length], { op: "lt" }, "in_text");
    if (bias === undefined) return g.reshape([inText], { shape: [1, TOKENS] }, "mask");
    const key = g.iota([], { shape: [1, TOKENS], axis: 1 });
    const query = g.iota([], { shape: [TOKENS, 1], axis: 0 });
    const distance = g.sub([key, query], {}, "distance");
    const square = [TOKENS, TOKENS];
    const flag = (value: 0 | 1): Value => g.expand([g.constant(hostScalar("bool", value))], { shape: square });
    const known = g.expand([g.reshape([inText], { shape: [1, TOKENS] })], { shape: square });
    // Padding sees itself, so that its rows stay numbers: a mean multiplies them by 0.
    const isOwn = g.compare([distance, g.constant(hostScalar("i32", 0))], { op: "eq" });
    const seen = g.where([isOwn, flag(1), known]);
    const nothing = g.constant(hostScalar("f32", maskedScore("f32")));
    const shape = [heads, TOKENS, TOKENS];
    const each = g.expand([g.reshape([seen], { shape: [1, TOKENS, TOKENS] })], { shape });
    const scores = g.where([each, g.expand([bias.scores(distance, heads)], { shape }), nothing]);
    return g.reshape([scores], { shape: [1, heads, TOKENS, TOKENS] }, "mask");
  }

  head(x: Value): void {
    const { finalNorm } = this.#rules;
    const normed =
      finalNorm === undefined ? x : this.scoped("final_norm", () => this.norm(x, finalNorm, this.sizes.width, "norm"));
    this.scoped("pooling", () => {
      this.builder.output(EMBEDDING, this.#projected(this.#pooled(normed)));
    });
  }

  /** [T, width], [1, width], or the scores [1, labels]. */
  #pooled(x: Value): Value {
    switch (this.#options.pooling) {
      case "none":
        return x;
      case "mean":
        return this.#mean(x);
      case "cls":
        return this.#first(x);
      case "last":
        return this.#last(x);
      case "rank":
        return this.#scores(x);
    }
  }

  #first(x: Value): Value {
    return this.g.narrow([x], { axis: 0, start: 0, length: 1 }, "first");
  }

  #last(x: Value): Value {
    const { g } = this;
    const row = g.sub([this.length, g.constant(hostScalar("i32", 1))]);
    return g.gather([x, g.reshape([row], { shape: [1] })], { axis: 0 }, "last");
  }

  #mean(x: Value): Value {
    const { g } = this;
    const inText = g.compare([this.positions(), this.length], { op: "lt" });
    const share = g.div([g.constant(hostScalar("f32", 1)), g.cast([this.length], { to: "f32" })]);
    const shares = g.where([inText, share, g.constant(hostScalar("f32", 0))]);
    return g.matmul([g.reshape([shares], { shape: [1, TOKENS] }), x], {}, "mean");
  }

  #scores(x: Value): Value {
    const { g } = this;
    const { width } = this.sizes;
    const { rank } = this.#rules;
    invariant(rank, "a graph without a rank head is not asked for scores");
    const row = rank.row === "mean" ? this.#mean(x) : rank.row === "last" ? this.#last(x) : this.#first(x);
    const inner = rank.inner ?? width;
    let scores = row;
    if (this.has("cls.weight")) {
      const made = this.linear(row, "cls", [inner, width], "cls");
      scores = rank.activation === "tanh" ? g.tanh([made], {}, "activation") : activate(g, made, rank.activation);
      if (this.has("cls.norm.weight")) scores = this.norm(scores, "cls.norm", inner, "cls_norm");
    }
    if (this.has("cls.output.weight")) scores = this.linear(scores, "cls.output", [rank.labels, inner], "scores");
    return rank.softmax ? g.softmax([scores], { axis: -1 }, "shares") : scores;
  }

  #projected(x: Value): Value {
    const { projection } = this.#rules;
    const { width } = this.sizes;
    if (projection === undefined || this.#options.pooling === "rank") return x;
    const wide = this.linear(x, "dense_2", [projection.inner, width], "dense_2");
    return this.linear(wide, "dense_3", [width, projection.inner], "dense_3");
  }
}
