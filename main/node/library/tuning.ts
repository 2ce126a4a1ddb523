/** What a training of a model's file made, written: an adapter, or the whole model in another file. */
import { newFile, newFiles, partPaths } from "../../engine/models/newFiles.ts";
import type { ConvertPlan, ConvertProgress } from "../../formats/gguf/convert.ts";
import { writeConverted } from "../../formats/gguf/convert.ts";
import { writeGguf } from "../../formats/gguf/write.ts";
import type { TargetType } from "../../formats/tensorBytes.ts";
import type { LoraTuning } from "../../training/tuning/lora.ts";
import type { AdapterType, TrainedNumbers } from "../../training/tuning/result.ts";
import { adapterContents, mergedPlan, tunedPlan } from "../../training/tuning/result.ts";
import type { Tuning } from "../../training/tuning/tuning.ts";
import { modelFiles } from "../files/modelFiles.ts";
import type { Model } from "./model.ts";

interface WriteOptions {
  /** Replace what is there. */
  readonly overwrite?: boolean;
  readonly signal?: AbortSignal;
}

export interface SaveAdapterOptions extends WriteOptions {
  /** Of A and B: "f32" by default. */
  readonly type?: AdapterType;
  /** What the file calls itself; the name of the file without it. */
  readonly name?: string;
}

export interface SaveTunedOptions extends WriteOptions {
  /** Of the matrices: "f32", "f16", "bf16" or "q8_0". */
  readonly type: TargetType;
  readonly onProgress?: (progress: ConvertProgress) => void;
}

/** Writes a trained adapter as a GGUF that `openModel` takes among its `adapters`, and llama.cpp as `--lora`. Gives its path. */
export async function saveAdapter(
  model: Model,
  tuning: LoraTuning,
  params: TrainedNumbers,
  path: string,
  { overwrite = false, signal, ...how }: SaveAdapterOptions = {},
): Promise<string> {
  const name = how.name ?? path.replace(/^.*[/\\]/u, "").replace(/\.gguf$/iu, "");
  const contents = adapterContents(model.file, tuning, params, { ...how, name });
  const target = await newFile(modelFiles, path, { overwrite, own: model.paths });
  await writeGguf(target.sink, contents, { signal });
  return target.path;
}

/** Writes the model with what was trained in its weights, as one GGUF: an adapter is added, trained weights take their place. */
export const saveTuned = async (
  model: Model,
  tuning: Tuning,
  params: TrainedNumbers,
  path: string,
  options: SaveTunedOptions,
): Promise<string> => writePlan(model, tunedPlan(model.file, tuning, params, options.type), path, options);

/** Writes a model that was opened with adapters as one GGUF with what they add in its own weights. */
export const mergeAdapters = async (model: Model, path: string, options: SaveTunedOptions): Promise<string> =>
  writePlan(model, await mergedPlan(model.file, options.type, options.signal), path, options);

async function writePlan(
  model: Model,
  plan: ConvertPlan,
  path: string,
  { overwrite = false, signal, onProgress }: SaveTunedOptions,
): Promise<string> {
  const targets = await newFiles(modelFiles, partPaths(path, plan), { overwrite, own: model.paths });
  await writeConverted(
    plan,
    targets.map(({ sink }) => sink),
    { ...(signal === undefined ? {} : { signal }), ...(onProgress === undefined ? {} : { onProgress }) },
  );
  return targets[0]?.path ?? path;
}
