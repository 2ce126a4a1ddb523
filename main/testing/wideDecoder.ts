/** One token of a decoder wide enough for the Neural Engine: tiny models stay on the CPU. */
import { finish } from "../ir/steps.ts";
import type { Graph } from "../ir/graph.ts";
import { specialize } from "../ir/specialize.ts";
import { opTable } from "../ops/index.ts";
import { tinyArchitecture, tinyGraph } from "./tinyModels.ts";

export const WIDE = { layers: 3, kvHeads: 2, headDim: 64, context: 64, vocabulary: 4096, width: 1024 } as const;

export function wideDecoder(): Graph {
  const { layers, context, ...sizes } = WIDE;
  const architecture = tinyArchitecture("llama", { layers, ...sizes, feedForward: 4096, heads: 16 });
  const template = tinyGraph(architecture, {
    capacity: context,
    cacheType: "f16",
    largestStep: 8,
    largestRows: 1,
  });
  return finish(specialize(opTable, template, { T: 1, R: 1 }));
}
