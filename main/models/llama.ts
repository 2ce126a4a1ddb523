/** Llama 2 and 3, Mistral and their kin: rope on neighbouring pairs (the converter permuted q and k for it), no head norms. */
import type { Graph } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import type { Decoder } from "./blocks.ts";

export function* llama(d: Decoder): Steps<Graph> {
  const x = yield* d.layers(d.embed(), (layer, stream) => {
    const attended = layer.residual("attention", stream, (h) => {
      const q = layer.rope(layer.project(h, "q"), "q");
      const k = layer.rope(layer.project(h, "k"), "k");
      return layer.attend(q, k, layer.project(h, "v"));
    });
    return layer.residual("ffn", attended, (h) => layer.gatedFeedForward(h));
  });
  d.head(x);
  return d.finish();
}
