/**
 * GLM-4: norms before and behind each branch, biases on q, k and v, part of a head turned, gate and
 * up from one matrix. Files of models that also see images turn halves instead of neighbours.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { hasRopeSections } from "../rope.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = { "attention.layer_norm_rms_epsilon": 1e-5, "rope.dimension_count": 8 };

export const glm4 = defineFamily({
  ...DENSE,
  name: "glm4",
  architectures: ["glm4"],
  read: (keys) => ({
    ...readDense(keys, { rope: { pairing: hasRopeSections(keys) ? "halves" : "adjacent" } }),
    fusedGate: true,
  }),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.sandwich(x, (input) => layer.attend(layer.turned(layer.heads(input)))),
    ),
  samples: [
    ...samplesOf("glm4", { keys: KEYS, optional: /attn_[qkv]\.bias/u }),
    sampleOf("glm4", "sections of positions", { keys: { ...KEYS, "rope.dimension_sections": [1, 2, 1, 0] } }),
    sampleOf("glm4", "a layer that guesses ahead", {
      keys: { ...KEYS, block_count: 3, nextn_predict_layers: 1 },
      drafts: 1,
    }),
  ],
});
