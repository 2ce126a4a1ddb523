/** Qwen3: each head of q and k is normed before rope, which turns the two halves of a head; heads may be wider than width / heads. */
import type { Graph } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import type { Decoder } from "./blocks.ts";

export function* qwen3(d: Decoder): Steps<Graph> {
  const x = yield* d.layers(d.embed(), (layer, stream) => {
    const attended = layer.residual("attention", stream, (h) => {
      const q = layer.rope(layer.headNorm(layer.project(h, "q"), "q"), "q");
      const k = layer.rope(layer.headNorm(layer.project(h, "k"), "k"), "k");
      return layer.attend(q, k, layer.project(h, "v"));
    });
    return layer.residual("ffn", attended, (h) => layer.gatedFeedForward(h));
  });
  d.head(x);
  return d.finish();
}
