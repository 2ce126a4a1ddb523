/**
 * Encoder-decoders. The encoder reads a text once, and gives the keys and values that each layer of the decoder
 * looks at. A step of the decoder takes them as inputs, beside its own tokens and caches: what was read is a part
 * of a session's state, and no step computes it again.
 */
import type { Graph, Value, WeightSource } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { Steps } from "../ir/steps.ts";
import { scalar, tensor } from "../ir/type.ts";
import { maskedScore } from "../ops/families/constants.ts";
import type { AttentionRules, ModelOptions } from "./blocks.ts";
import { INPUTS, TOKENS, attendWhole } from "./blocks.ts";
import type { Caches } from "./decoder.ts";
import { Decoder } from "./decoder.ts";
import type { DenseHyper } from "./dense.ts";
import type { DenseLayer } from "./denseBlocks.ts";
import { denseLayers } from "./denseBlocks.ts";
import type { ScoreBias, TextRules } from "./textGraph.ts";
import { TextGraph } from "./textGraph.ts";

/** Tokens of the text that was read. */
export const SOURCE = "S";

/** Keys or values of the text, for a layer of the decoder: [key heads, S, size]. */
const crossName = (role: "k" | "v", layer: number): string => `cross.${role}.${layer}`;

/** The bias of a decoder's own attention. */
export type DecoderBias = NonNullable<TextRules["bias"]>;

/** A step of the decoder. */
export class SourceDecoder extends Decoder {
  readonly #hyper: DenseHyper;
  readonly #bias: DecoderBias;
  /** Tokens of the text; rows of the inputs behind them are padding. */
  readonly #length: Value;
  /** What is added to the scores of the decoder's own attention, and which rows of the text are its tokens. */
  readonly #scores = new Map<string, Value>();
  #inText: Value | undefined;

  constructor(hyper: DenseHyper, bias: DecoderBias, weights: WeightSource, options: ModelOptions) {
    super(hyper, weights, options);
    this.#hyper = hyper;
    this.#bias = bias;
    this.builder.limitSymbol(SOURCE, hyper.context);
    this.#length = this.builder.input(INPUTS.sourceLength, scalar("i32"), { label: INPUTS.sourceLength });
  }

  protected override get packs(): boolean {
    return false;
  }

  /** Attends over the caches, scores with the bias of their distance. */
  protected override attendOver(q: Value, { k, v }: Caches, { scale }: AttentionRules, layer: number): Value {
    const { g } = this;
    const whole = (cache: Value): Value => {
      const { dtype, shape } = g.typeOf(cache);
      return g.reshape([dtype === "f32" ? cache : g.cast([cache], { to: "f32" })], { shape: [1, ...shape] });
    };
    const bias = this.#bias(this, layer);
    const scores = this.#scores.get(bias.name) ?? this.scoped("positions", () => this.#distanceScores(bias));
    this.#scores.set(bias.name, scores);
    return attendWhole(g, q, [whole(k), whole(v)], { scale, mask: "bias" }, scores);
  }

  /** What each token takes from the text: [T, heads, size]. */
  attendSource(layer: number, q: Value): Value {
    const { kvHeads, headDim, attentionScale: scale = 1 / Math.sqrt(headDim) } = this.#hyper;
    const given = (role: "k" | "v"): Value => {
      const name = crossName(role, layer);
      const rows = this.builder.input(name, tensor("f32", [kvHeads, SOURCE, headDim]), { label: name });
      return this.g.reshape([rows], { shape: [1, kvHeads, SOURCE, headDim] });
    };
    this.#inText ??= this.scoped("positions", () => this.#textMask());
    return attendWhole(this.g, q, [given("k"), given("v")], { scale, mask: "custom" }, this.#inText);
  }

  /** [1, heads, T, capacity]: the bias of the distance; nothing is seen behind the token. */
  #distanceScores(bias: ScoreBias): Value {
    const { g } = this;
    const { heads } = this.#hyper;
    const room = this.room();
    const query = g.reshape([this.positions()], { shape: [TOKENS, 1] });
    const distance = g.sub([g.iota([], { shape: [1, room], axis: 1 }), query], {}, "distance");
    const added = bias.scores(distance, heads);
    const visible = g.compare([distance, g.constant(hostScalar("i32", 0))], { op: "le" });
    const each = g.expand([g.reshape([visible], { shape: [1, TOKENS, room] })], { shape: [heads, TOKENS, room] });
    const seen = g.where([each, added, g.constant(hostScalar("f32", maskedScore("f32")))]);
    return g.reshape([seen], { shape: [1, heads, TOKENS, room] }, "distance_scores");
  }

  /** bool [1, S] */
  #textMask(): Value {
    const { g } = this;
    const inText = g.compare([g.iota([], { shape: [SOURCE], axis: 0 }), this.#length], { op: "lt" });
    return g.reshape([inText], { shape: [1, SOURCE] }, "in_text");
  }
}

/** A branch of a decoder's layer that looks at the text: its input through `cross_attn_q`, what it saw through `cross_attn_o`. */
export function lookAtSource(layer: DenseLayer<SourceDecoder>, input: Value, h: DenseHyper): Value {
  const { g } = layer;
  const { heads, headDim, width } = h;
  const flat = layer.linear(input, "cross_attn_q", [heads * headDim, width], "q");
  const mixed = layer.place.d.attendSource(
    layer.index,
    g.reshape([flat], { shape: [TOKENS, heads, headDim] }, "q_heads"),
  );
  const merged = g.reshape([mixed], { shape: [TOKENS, heads * headDim] }, "merge_heads");
  return layer.linear(merged, "cross_attn_o", [width, heads * headDim], "output");
}

/** The encoder's graph: its layers over the whole text, and then keys and values for each layer of the decoder. */
class SourceGraph extends TextGraph {
  readonly #decoder: DenseHyper;
  readonly #norm: string;

  constructor(
    encoder: DenseHyper,
    decoder: DenseHyper,
    weights: WeightSource,
    largestText: number,
    rules: TextRules & { readonly finalNorm: string },
  ) {
    super(encoder, weights, { pooling: "none", largestText }, rules);
    this.#decoder = decoder;
    this.#norm = rules.finalNorm;
  }

  override head(x: Value): void {
    const { width, kvHeads, headDim, layers, names } = this.#decoder;
    const read = this.scoped("final_norm", () => this.norm(x, this.#norm, this.sizes.width, "norm"));
    for (let layer = 0; layer < layers; layer++)
      this.scoped(`cross.${layer}`, () => {
        for (const role of ["k", "v"] as const) {
          const flat = this.linear(
            read,
            `${names?.block ?? "blk"}.${layer}.cross_attn_${role}`,
            [kvHeads * headDim, width],
            role,
          );
          const rows = this.g.reshape([flat], { shape: [TOKENS, kvHeads, headDim] });
          const name = crossName(role, layer);
          this.builder.output(name, this.g.transpose([rows], { perm: [1, 0, 2] }, name));
        }
      });
  }
}

interface SourceParts {
  readonly encoder: DenseHyper;
  readonly decoder: DenseHyper;
  readonly block: (layer: DenseLayer, x: Value) => Value;
  readonly rules: TextRules & { readonly finalNorm: string };
}

export const sourceGraph = (
  { encoder, decoder, block, rules }: SourceParts,
  weights: WeightSource,
  largestText: number,
): Steps<Graph> =>
  denseLayers(new SourceGraph(encoder, decoder, weights, largestText, rules), encoder, (layer, x) => block(layer, x));
