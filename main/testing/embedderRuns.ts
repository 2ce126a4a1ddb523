/** What the tests of embedders share: their samples, a model over a file on the CPU, and how far two answers are apart. */
import type { CpuEngine } from "../backends/cpu/engine.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { FAMILIES } from "../models/families/index.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { locateIn, mappedFiles } from "../runtime/decoderModel.ts";
import { cpuDevice } from "../runtime/devices/cpu.ts";
import type { EmbedderModel, EmbedderPlanOptions } from "../runtime/embedderModel.ts";
import { openEmbedder } from "../runtime/embedderModel.ts";

/** Samples whose files name a pooling. */
export const EMBEDDER_CASES = FAMILIES.flatMap((family) =>
  family.samples
    .filter(({ keys }) => keys["pooling_type"] !== undefined)
    .map((sample) => [`${sample.architecture}, ${sample.title}`, family, sample] as const),
);

export async function embedderOn<T>(
  engine: CpuEngine,
  path: string,
  options: EmbedderPlanOptions,
  work: (model: EmbedderModel) => Promise<T>,
): Promise<T> {
  const file = await openGguf(await openFileSource(path));
  const weights = { ...mappedFiles(file, [path]), locate: locateIn(file) };
  const model = openEmbedder(file, cpuDevice(engine, { threads: 2, weights }), options);
  try {
    return await work(model);
  } finally {
    model.dispose();
    await file.close();
  }
}

/** The largest difference by the largest number of the second. */
export function worstShare(mine: Float32Array, theirs: Float32Array): number {
  const largest = theirs.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return mine.reduce((most, x, i) => Math.max(most, Math.abs(x - (theirs[i] ?? NaN))), 0) / largest;
}
