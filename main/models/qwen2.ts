/** Qwen2 and Qwen2.5: biases on q, k and v (added where the file has them), rope on the two halves of a head. */
import type { Graph } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import type { Decoder } from "./blocks.ts";

export function* qwen2(d: Decoder): Steps<Graph> {
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
