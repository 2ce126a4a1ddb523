/** Qwen3: each head of q and k is normed before rope, which turns the two halves of a head. */
import { DENSE, denseTensors, readDense } from "../dense.ts";
import { denseGraph } from "../denseBlocks.ts";
import { defineFamily, needed } from "../family.ts";

export const qwen3 = defineFamily({
  ...DENSE,
  name: "qwen3",
  architectures: ["qwen3"],
  read: (keys) => readDense(keys, { pairing: "halves" }),
  tensors: (h) =>
    denseTensors(h, (block) => [
      needed(`${block}attn_q_norm.weight`, h.headDim),
      needed(`${block}attn_k_norm.weight`, h.headDim),
    ]),
  graph: (h, weights, options) =>
    denseGraph(h, weights, options, (layer, x) => {
      const attended = layer.residual("attention", x, (input) => {
        const q = layer.rope(layer.headNorm(layer.project(input, "q"), "q"), "q");
        const k = layer.rope(layer.headNorm(layer.project(input, "k"), "k"), "k");
        return layer.attend(q, k, layer.project(input, "v"));
      });
      return layer.residual("ffn", attended, (input) => layer.gatedFeedForward(input));
    }),
});
