/** A model in smaller types, written as a GGUF: what `rlx quantize` does, for programs. */
import { importanceAt, newFile } from "../../engine/models/newFiles.ts";
import type { Override } from "../../quantize/plan.ts";
import { planQuantize } from "../../quantize/plan.ts";
import { recipeOf } from "../../quantize/recipes.ts";
import type { QuantizeProgress, QuantizeReport } from "../../quantize/write.ts";
import { writeQuantized } from "../../quantize/write.ts";
import { modelFiles } from "../files/modelFiles.ts";
import { engines, THREADS } from "./addon.ts";
import type { Model } from "./model.ts";

export interface QuantizeModelOptions {
  /** "q4_k_m", "iq4_xs", "f16" …; an unknown one is refused with all names. */
  readonly to: string;
  /** Other types for tensors whose names match; the first counts. */
  readonly overrides?: readonly Override[];
  /** Of the output matrix and of the embedding. */
  readonly output?: string;
  readonly embedding?: string;
  /** Every weight gets the recipe's own type. */
  readonly pure?: boolean;
  /** Path of an importance matrix: a GGUF that `rlx imatrix` or llama-imatrix wrote. */
  readonly importance?: string;
  /** Replace what is there. */
  readonly overwrite?: boolean;
  readonly threads?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: QuantizeProgress) => void;
}

/** Writes the model's file in other types, and gives what each tensor lost. */
export async function quantizeModel(
  model: Model,
  path: string,
  options: QuantizeModelOptions,
): Promise<QuantizeReport> {
  const { to, importance: from, overwrite = false, threads = THREADS, signal, onProgress, ...choice } = options;
  const importance = from === undefined ? undefined : await importanceAt(modelFiles, from);
  const plan = planQuantize(model.file, { ...choice, recipe: recipeOf(to), importance: importance !== undefined });
  const engine = engines().cpu.engine();
  const { sink } = await newFile(modelFiles, path, { overwrite, own: model.paths });
  return writeQuantized(model.file, plan, sink, {
    repack: (rows, own) => engine.repack(rows, threads, own),
    ...(importance === undefined ? {} : { importance }),
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined ? {} : { onProgress }),
  });
}
