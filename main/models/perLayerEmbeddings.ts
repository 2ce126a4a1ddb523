/**
 * Embeddings of their own for each layer: a token has a row for every layer, mixed with a projection of its
 * embedding. A layer gates them by its stream and adds them to it.
 */
import { invariant } from "../diagnostics/errors.ts";
import type { Value } from "../ir/graph.ts";
import { hostScalar } from "../ir/hostTensor.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { Decoder } from "./decoder.ts";
import { TOKENS } from "./blocks.ts";
import type { DenseLayer } from "./denseBlocks.ts";

const times = (g: OpBuilder, x: Value, factor: number, label?: string): Value =>
  g.mul([x, g.constant(hostScalar("f32", Math.fround(factor)))], {}, label);

export class PerLayerEmbeddings {
  readonly #size: number;
  #all: Value | undefined;

  /** Values of a token's row in one layer. */
  constructor(size: number) {
    this.#size = size;
  }

  /** (norm(projection(x) / √width) + row · √size) / √2 for all layers at once; x is the embedding. */
  begin(d: Decoder, x: Value): void {
    const { layers, width } = d.sizes;
    const size = this.#size;
    this.#all = d.scoped("per_layer", () => {
      const shape = [TOKENS, layers, size];
      const rows = d.g.reshape([d.tokenRows("per_layer_token_embd.weight", layers * size, "tokens")], { shape });
      const projected = d.linear(x, "per_layer_model_proj", [layers * size, width], "projection");
      const parts = d.g.reshape([times(d.g, projected, 1 / Math.sqrt(width))], { shape });
      const normed = d.norm(parts, "per_layer_proj_norm", size, "norm");
      return times(d.g, d.g.add([normed, times(d.g, rows, Math.sqrt(size))]), Math.SQRT1_2, "inputs");
    });
  }

  /** What the layer adds to its stream: norm(proj(gelu(gate(x)) · its embedding)). */
  of(layer: DenseLayer, x: Value, width: number): Value {
    const all = this.#all;
    invariant(all, "the embeddings of the layers come before the first layer");
    const { g } = layer;
    const size = this.#size;
    return layer.scoped("per_layer", () => {
      const mine = g.narrow([all], { axis: 1, start: layer.index, length: 1 });
      const row = g.reshape([mine], { shape: [TOKENS, size] }, "input");
      const gate = g.gelu([layer.linear(x, "inp_gate", [size, width], "gate")], { approx: true }, "activation");
      const added = layer.linear(g.mul([gate, row], {}, "gated"), "proj", [width, size], "projection");
      return layer.norm(added, "post_norm");
    });
  }
}
