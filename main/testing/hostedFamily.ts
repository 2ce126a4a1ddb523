/**
 * A toy family whose step has host parts in the middle, with states of every way to cross: caches of one Core ML part, states that
 * Core ML reads and the host writes, the other way round, and states of the host alone in types that Core ML does not have. What a
 * step gives does not depend on how a text is cut into steps.
 */
import type { Value } from "../ir/graph.ts";
import type { Dim } from "../ir/dim.ts";
import type { DType } from "../ir/dtype.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { tensor } from "../ir/type.ts";
import { TOKENS } from "../models/blocks.ts";
import type { Decoder } from "../models/decoder.ts";
import type { LayerPlace } from "../models/denseBlocks.ts";
import { denseGraph } from "../models/denseBlocks.ts";
import type { DenseHyper } from "../models/dense.ts";
import { DENSE, readDense } from "../models/dense.ts";
import { samplesOf } from "../models/samples.ts";
import { defineFamily } from "../models/family.ts";

/** The spectrum of each token, with that of the token before: Core ML reads the state, the host writes it. */
function echo({ d, index }: LayerPlace, x: Value, width: number): Value {
  const { g } = d;
  const transform = { inverse: false, norm: "ortho" } as const;
  const spectrum = g.fft([x], transform, "spectrum");
  let before = spectrum;
  d.state(`echo.${index}`, tensor("f32", [1, width]), { label: "echo", rewind: "checkpoint" }, (last) => {
    before = rows(d, g.concat([last, spectrum], { axis: 0 }), 0, TOKENS);
    const zeros = g.constant(hostTensor("f32", [1, width], new Float64Array(width)));
    return g.fft([rows(d, g.concat([zeros, x], { axis: 0 }), TOKENS, 1)], transform);
  });
  return g.add([spectrum, g.mul([before, g.constant(hostScalar("f32", 0.5))])]);
}

const rows = ({ g }: Decoder, x: Value, start: Dim, length: Dim): Value => g.narrow([x], { axis: 0, start, length });

/** An LSTM over the tokens, with weights of the file: its cell is the host's, its hidden values are written by Core ML. */
function memory({ d, index, block }: LayerPlace, x: Value, width: number): Value {
  const { g } = d;
  const weight = (name: string, shape: readonly number[]): Value => d.weight(`${block}${name}.weight`, shape);
  const type = tensor("f32", [1, 1, width]);
  let out = x;
  d.state(`hidden.${index}`, type, { label: "hidden", rewind: "checkpoint" }, (hidden) => {
    let after = hidden;
    d.state(`cell.${index}`, type, { label: "cell", rewind: "checkpoint" }, (cell) => {
      const [sequence = x, h = hidden, c = cell] = g.lstm(
        [
          g.reshape([x], { shape: [1, TOKENS, width] }),
          weight("lstm_in", [4 * width, width]),
          weight("lstm_state", [4 * width, width]),
          weight("lstm_bias", [4 * width]),
          hidden,
          cell,
        ],
        { hidden: width, layers: 1, bidirectional: false },
        "lstm",
      );
      out = g.reshape([sequence], { shape: [TOKENS, width] });
      after = h;
      return c;
    });
    // What it is, for hidden values are above −1; but Core ML works it out.
    return g.maximum([after, g.constant(hostScalar("f32", -2))], {}, "held");
  });
  return out;
}

/** A state of a type that Core ML has no arithmetic for: the largest of what it was and a number. Gives 1 where nothing of it is lost. */
function largest({ d, index }: LayerPlace, dtype: DType, value: number): Value {
  const both = (number: number): Value => d.g.constant(hostTensor(dtype, [2], [number, number]));
  const after = d.state(
    `most.${dtype}.${index}`,
    tensor(dtype, [2]),
    { label: dtype, rewind: "checkpoint" },
    (before) => d.g.maximum([before, both(value)], {}, dtype),
  );
  const one = d.g.cast([d.g.sub([after, both(value - 1)])], { to: "f32" });
  return d.g.reduce([one], { kind: "mean", axes: [0] });
}

export const hostedFamily = defineFamily<DenseHyper>({
  ...DENSE,
  name: "hosted",
  architectures: ["hosted"],
  read: (keys) => readDense(keys, { rope: { pairing: "halves" } }),
  sizes: (h) => ({ ...DENSE.sizes(h), recurrent: { elements: 3 * h.width * h.layers, product: "3 rows a layer" } }),
  sentence: (h) => `A toy of ${h.layers} layers with host parts.`,
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const { place } = layer;
      return layer.preNorm(
        x,
        (input) => layer.attend(layer.turned(layer.normed(layer.heads(input)))),
        (input) => {
          const { g } = place.d;
          const heard = memory(place, echo(place, input, h.width), h.width);
          const ones = [
            largest(place, "u32", 2 ** 32 - 5),
            largest(place, "i64", 2 ** 40 + 3),
            largest(place, "f64", 2 ** 40 + 0.5),
          ];
          const seed = g.constant(hostTensor("i32", [4], [1, 2, 3, place.index]));
          const noise = g.rng_uniform([seed], { shape: [h.width], low: -0.5, high: 0.5 }, "noise");
          return ones.reduce(
            (sum, one) => g.mul([sum, one]),
            g.add([g.add([layer.gatedFeedForward(input), heard]), noise]),
          );
        },
      );
    }),
  samples: samplesOf("hosted", {
    keys: { "attention.layer_norm_rms_epsilon": 1e-5 },
    output: "tied",
    equalHeads: true,
  }),
});
