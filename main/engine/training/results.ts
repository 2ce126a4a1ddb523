/** What a run leaves behind: its weights as safetensors, and checkpoints. */
import { bytesFigure } from "../measure/forecast.ts";
import type { TrainResult, TrainSpec } from "../../contract/views/train.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { safetensorsPieces } from "../../formats/safetensors/write.ts";
import type { TrainingFiles } from "../services.ts";
import { requirePaths } from "../models/openModel.ts";
import type { OpenedTraining } from "./opening.ts";
import { recipeOf } from "./settings.ts";

const CHECKPOINT_ENDING = "safetensors";

/** Absolute paths of what will be written. */
export interface Places {
  readonly output?: string;
  readonly checkpoint?: string;
}

/** Asked for before the first step: a run of hours does not end with a wrong path. */
export async function placesOf(
  files: TrainingFiles,
  { recipe, output, checkpoint, resume }: TrainSpec,
): Promise<Places> {
  const at = (path: string, overwrite: boolean, ending = CHECKPOINT_ENDING): Promise<string> =>
    files.place(path, { ending, overwrite });
  return {
    ...(output === undefined ? {} : { output: await at(output.path, output.overwrite, recipeOf(recipe).resultEnding) }),
    // A checkpoint takes the place of the one before it, which a run that goes on has read.
    ...(checkpoint === undefined
      ? {}
      : { checkpoint: await at(checkpoint.path, resume !== undefined || output?.overwrite === true) }),
  };
}

export function weightsPieces(
  params: Readonly<Record<string, HostTensor>>,
  { recipe, prepared }: OpenedTraining,
  steps: number,
  more: Readonly<Record<string, string>> = {},
): readonly Uint8Array[] {
  const tensors = Object.entries(params).map(([name, { shape, data }]) => ({
    ...{ name, shape },
    type: "F32",
    bytes: tensorBytes(hostTensor("f32", shape, data)),
  }));
  return safetensorsPieces(tensors, { ...prepared.metadata, ...more, recipe: recipe.id, steps: String(steps) });
}

export const fileBytes = (pieces: readonly Uint8Array[]): number =>
  pieces.reduce((sum, piece) => sum + piece.byteLength, 0);

export const weightsResult = (path: string, bytes: number, { recipe }: OpenedTraining): TrainResult => ({
  ...{ what: "weights", path, bytes, opens: "no", model: null },
  sentence: `The weights of ${recipe.title.toLowerCase()}, ${bytesFigure(bytes)} of safetensors.`,
});

export const adapterResult = (path: string, bytes: number, { model }: OpenedTraining): TrainResult => ({
  ...{ what: "adapter", path, bytes, opens: "adapter" },
  model: model === undefined ? null : (requirePaths(model, "train")[0] ?? null),
  sentence: `An adapter of ${bytesFigure(bytes)}, to be opened with its model.`,
});

export const modelResult = (path: string, bytes: number): TrainResult => ({
  ...{ what: "model", path, bytes, opens: "model", model: null },
  sentence: `A model of ${bytesFigure(bytes)} with what was trained in its weights.`,
});

/** A model is not written over itself: its weights lie in it. */
export function requireOtherFile({ output }: Places, { model }: Pick<OpenedTraining, "model">): void {
  if (output === undefined || model?.file === undefined || !requirePaths(model, "train").includes(output)) return;
  throw new WorkbenchError("INPUT_ARGUMENT", `[train] output: got ${output}, which is the model that is read`, {
    hint: "Choose another name.",
  });
}

export const checkpointResult = (path: string, bytes: number, step: number): TrainResult => ({
  ...{ what: "checkpoint", path, bytes, opens: "no", model: null },
  sentence: `Step ${step} with everything that the next one needs, ${bytesFigure(bytes)}.`,
});
