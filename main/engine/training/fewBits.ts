/**
 * A run in few bits: after some updates in floats the net is calibrated (PTQ), and the updates behind them train what it would be
 * in so many bits (QAT). The ranges of the calibration serve its validation and its samples too.
 */
import type { TrainQuantize, TrainQuantized, TrainSettings, TrainSpec } from "../../contract/views/train.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import type { Numbers } from "../../runtime/numbers.ts";
import type { Ranges } from "../../passes/fewBits.ts";
import { calibrate, quantizedGraph } from "../../training/quantized.ts";
import type { Prepared, Recipe } from "../../training/recipes/recipe.ts";
import type { TrainingDevice } from "../../training/trainingDevice.ts";

const refused = (recipe: Recipe, message: string, hint: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[train ${recipe.id}] quantize: ${message}`, { hint });

/** What a spec asks for, made complete; null: the net stays in floats. */
export function quantizeOf(
  { quantize, checkpoint, resume }: TrainSpec,
  recipe: Recipe,
  { steps, validation }: Pick<TrainSettings, "steps" | "validation">,
): TrainQuantize | null {
  if (quantize === undefined) return null;
  if (recipe.needs === "model")
    throw refused(
      recipe,
      "got it over a model's file, expected a recipe with a net of its own",
      "A trained model is written in fewer bits by `rlx quantize`.",
    );
  if (checkpoint !== undefined || resume !== undefined)
    throw refused(
      recipe,
      "got it with a checkpoint, expected one of both",
      "A checkpoint does not hold the ranges of a calibration.",
    );
  if (validation.every === 0)
    throw refused(recipe, "got no validation, expected one", "What bits cost is measured over data that is held back.");
  const after = quantize.after ?? steps;
  if (after > steps)
    throw refused(
      recipe,
      `after: got ${after}, expected at most the ${steps} steps`,
      "Leave it out to calibrate only.",
    );
  return { ...quantize, after };
}

/** What bits cost is said by data that is held back: without any there is nothing to say. */
export function requireHeldBack(recipe: Recipe, { quantize }: TrainSettings, { validation }: Prepared): void {
  if (quantize === null || validation !== undefined) return;
  throw refused(
    recipe,
    "got no data that is held back, expected some",
    "Take a recipe with a validation, such as digits, or give more data.",
  );
}

/** A prepared net in few bits, and how wide its grids are. */
export interface FewBits {
  readonly prepared: Prepared;
  readonly ranges: Ranges;
}

/** Calibrates it with these weights, on the first batches of its data. */
export async function inFewBits(
  prepared: Prepared,
  weights: Readonly<Record<string, Numbers>>,
  quantize: TrainQuantize,
  device: TrainingDevice,
  signal: AbortSignal,
): Promise<FewBits> {
  const { forward, trainable, validation, writing } = prepared;
  const batches = Array.from({ length: quantize.batches }, (_, i) => prepared.batch(i + 1));
  const ranges = await calibrate(forward, trainable, weights, batches, device, signal);
  const few = (graph: Graph): Graph => quantizedGraph(graph, trainable, ranges, quantize);
  return {
    ranges,
    prepared: {
      ...prepared,
      forward: few(forward),
      ...(validation === undefined ? {} : { validation: { ...validation, graph: few(validation.graph) } }),
      ...(writing === undefined ? {} : { writing: { ...writing, graph: few(writing.graph) } }),
    },
  };
}

/** For the file of the weights: with these a reader makes the same grids. */
export const fewBitsMetadata = (
  { weights, activations }: Pick<TrainQuantized, "weights" | "activations">,
  ranges: Ranges,
): Readonly<Record<string, string>> => ({
  weight_bits: String(weights),
  activation_bits: String(activations),
  activation_ranges: JSON.stringify(ranges),
});
