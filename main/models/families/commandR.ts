/** Command R and Command A: both branches from one norm without a bias; from the second generation on, layers with a window turn their heads and the others do not. */
import { DENSE, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily } from "../family.ts";
import { samplesOf } from "../samples.ts";

export const commandR = defineFamily({
  ...DENSE,
  name: "commandR",
  architectures: ["command-r", "cohere2"],
  read: (keys) => {
    const h = readDense(keys, { rope: { pairing: "adjacent" }, norm: "layer" });
    const isSecond = keys.name === "cohere2";
    return {
      ...h,
      window: isSecond ? keys.optionalCount("attention.sliding_window") : undefined,
      unusedWindow: 0,
      scales: { logits: keys.optionalNumber("logit_scale") ?? 1 },
    };
  },
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const isLocal = h.window !== undefined && layer.index % 4 < 3;
      const input = layer.norm(x, "attn_norm");
      const attended = layer.part("attention", () => {
        const { q, k, v } = layer.heads(input);
        const isNormed = layer.has("attn_q_norm.weight");
        const normed = isNormed ? { q: layer.headNorm(q, "q", true), k: layer.headNorm(k, "k", true), v } : { q, k, v };
        const turned = h.window === undefined || isLocal ? layer.turned(normed) : normed;
        return layer.add(x, layer.attend(turned.q, turned.k, v, { window: isLocal ? h.window : undefined }));
      });
      return layer.part("ffn", () => layer.add(attended, layer.gatedFeedForward(input)));
    }),
  samples: [
    ...samplesOf("command-r", {
      keys: { "attention.layer_norm_epsilon": 1e-5, logit_scale: 0.0625 },
      output: "tied",
      equalHeads: true,
    }),
    ...samplesOf("cohere2", {
      keys: { "attention.layer_norm_epsilon": 1e-5, logit_scale: 0.25, "attention.sliding_window": 16 },
      output: "tied",
    }),
    ...samplesOf("cohere2", {
      keys: { "attention.layer_norm_epsilon": 1e-5, logit_scale: 0.5, "attention.sliding_window": 16, block_count: 5 },
      output: "tied",
    })
      .slice(0, 1)
      .map((sample) => ({ ...sample, title: "five layers, one of them sees all" })),
  ],
});
