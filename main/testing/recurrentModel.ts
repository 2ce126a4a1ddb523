/** A decoder without caches: its state is one row of sums, so a rewind must undo tokens there. */
import type { Graph } from "../ir/graph.ts";
import type { Rewind } from "../ir/rewind.ts";
import { tensor } from "../ir/type.ts";
import { Decoder } from "../models/decoder.ts";

export const RECURRENT = { vocabulary: 48, width: 16, chunk: 4, capacity: 64 } as const;

export function recurrentModel(rewind: Rewind): Graph {
  const { vocabulary, width, chunk, capacity } = RECURRENT;
  const sizes = { name: "recurrent", layers: 1, width, vocabulary, context: capacity };
  const types = { tensorType: () => ({ dtype: "f32", shape: [vocabulary, width] }) as const, identity: "weights" };
  const norm = (name: string) => (name.includes("norm") ? ({ dtype: "f32", shape: [width] } as const) : undefined);
  const d = new Decoder(
    { ...sizes, norm: "rms", normEpsilon: 1e-5, tiedEmbedding: true },
    { ...types, has: () => false, tensorType: (name) => norm(name) ?? types.tensorType() },
    { capacity, cacheType: "f32", largestStep: chunk, largestRows: chunk },
  );
  const x = d.embed();
  let before = x;
  d.state("sums", tensor("f32", [1, width]), { label: "sums", rewind }, (sums) => {
    before = sums;
    return d.g.add([sums, d.g.reduce([x], { kind: "sum", axes: [0], keepDims: true })]);
  });
  const running = d.g.cumsum([x], { axis: 0, exclusive: false, reverse: false });
  d.head(d.g.sin([d.g.add([running, before])]));
  return d.finish();
}
