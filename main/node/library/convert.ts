/** A model written as GGUF files: what `rlx convert` does, for programs. */
import { newFiles, partPaths } from "../../engine/models/newFiles.ts";
import type { ConvertProgress } from "../../formats/gguf/convert.ts";
import { planConvert, writeConverted } from "../../formats/gguf/convert.ts";
import type { TargetType } from "../../formats/tensorBytes.ts";
import { modelFiles } from "../files/modelFiles.ts";
import type { Model } from "./model.ts";

export interface ConvertModelOptions {
  /** The type of matrices; what they have without it. */
  readonly type?: TargetType;
  /** Most bytes of tensors, and most tensors, in a file; one file without them. */
  readonly splitBytes?: number;
  readonly splitTensors?: number;
  /** Replace what is there. */
  readonly overwrite?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ConvertProgress) => void;
}

/** Writes a model as one GGUF, or as several with a number before the ending of `path`. Gives the paths. */
export async function convertModel(
  model: Model,
  path: string,
  options: ConvertModelOptions = {},
): Promise<readonly string[]> {
  const { overwrite = false, signal, onProgress, ...choice } = options;
  const plan = planConvert(model.file, choice);
  const targets = await newFiles(modelFiles, partPaths(path, plan), { overwrite, own: model.paths });
  const sinks = targets.map(({ sink }) => sink);
  await writeConverted(plan, sinks, {
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  return targets.map((target) => target.path);
}
