/**
 * Ministral 3 and Devstral 2: a llama whose queries grow with their position, with the keys of yarn
 * that say how it ramps.
 */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { sampleOf, samplesOf } from "../samples.ts";

const KEYS = {
  "attention.layer_norm_rms_epsilon": 1e-5,
  "rope.scaling.type": "yarn",
  "rope.scaling.factor": 4,
  "rope.scaling.original_context_length": 16,
  "rope.scaling.yarn_beta_fast": 24,
  "rope.scaling.yarn_beta_slow": 2,
  "rope.scaling.yarn_log_multiplier": 1,
  "attention.temperature_scale": 0.1,
};

export const mistral3 = defineFamily({
  ...DENSE,
  name: "mistral3",
  architectures: ["mistral3"],
  read: (keys) => {
    const h = readDense(keys, {
      rope: { pairing: "adjacent", factors: "rope_freqs.weight", hasLongFactors: true, hasYarnKeys: true },
      experts: { gating: "softmax", normalise: true, width: "feed_forward_length" },
    });
    const scale = keys.optionalNumber("attention.temperature_scale") ?? 0;
    const each = keys.optionalCount("rope.scaling.original_context_length") ?? h.context;
    if (scale !== 0 && each === 0) throw keys.badKey("rope.scaling.original_context_length", 0, "more than 0");
    return { ...h, temperature: scale === 0 ? undefined : { scale, offset: 0, each } };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) =>
      layer.preNorm(x, (input) => layer.attend(layer.warmed(layer.turned(layer.heads(input))))),
    ),
  samples: [
    ...samplesOf("mistral3", { keys: KEYS, optional: /attn_(q|k|v|output)\.bias|ffn_(gate|up|down)\.bias/u }),
    sampleOf("mistral3", "neither yarn nor temperature", { keys: { "attention.layer_norm_rms_epsilon": 1e-5 } }),
    sampleOf("mistral3", "experts", {
      keys: { ...KEYS, "rope.scaling.yarn_log_multiplier": 0, expert_count: 5, expert_used_count: 2 },
      full: true,
    }),
  ],
});
