/** Apertus: heads normed before they turn, and xIELU without a gate, whose numbers differ from layer to layer. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";
import type { XieluAttrs } from "../../ops/unary/xielu.ts";

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  ":xielu.alpha_n": 0.8,
  ":xielu.alpha_p": 0.7,
  ":xielu.beta": 0.5,
  ":xielu.eps": -1e-6,
};

const softplus = (x: number): number => (x > 20 ? x : Math.log1p(Math.exp(x)));

export const apertus = defineFamily({
  ...DENSE,
  name: "apertus",
  architectures: ["apertus"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "halves", factors: "rope_freqs.weight", hasLongFactors: true } });
    const [alphaN, alphaP, beta, epsilon] = ["alpha_n", "alpha_p", "beta", "eps"].map((name) =>
      keys.numbersPerLayer(`xielu.${name}`, h.layers),
    );
    const xielu = (layer: number): XieluAttrs => {
      const at = (values: readonly number[] | undefined): number => values?.[layer] ?? 0;
      return {
        alphaP: Math.fround(softplus(at(alphaP))),
        alphaN: Math.fround(at(beta) + softplus(at(alphaN))),
        beta: Math.fround(at(beta)),
        eps: Math.fround(at(epsilon)),
      };
    };
    return { ...h, xielu };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(
        x,
        (input) => layer.attend(layer.turned(layer.normed(layer.heads(input)))),
        (input) => layer.feedForward(input, h.xielu(layer.index)),
      ),
    ),
  samples: [
    ...samplesOf("apertus", { keys: KEYS, output: "own", optional: /attn_(q|k|v|output)\.bias/u }),
    sampleOf("apertus", "numbers of each layer, divisors of rope", {
      keys: {
        ...KEYS,
        ":xielu.alpha_n": [0.2, 1.3],
        ":xielu.alpha_p": [1.1, 0.4],
        ":xielu.beta": [0.5, 0.25],
        ":xielu.eps": [-1e-6, -0.5],
      },
      output: "own",
      marks: { "rope_freqs.weight": [8] },
    }),
  ],
});
