/**
 * Full fine-tuning: chosen tensors of the file, or all of them, become parameters in f32 and are trained themselves. The others
 * stay as they lie in the file. An embedding that is the output matrix too is one parameter, and gets both gradients.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { requireNoAdapters } from "../../formats/gguf/adapters.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { weightSourceOf } from "../../formats/gguf/weightSource.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import { isFloat, isPacked } from "../../ir/dtype.ts";
import type { Graph, WeightSource } from "../../ir/graph.ts";
import { requireReadingDecoder } from "../../models/architecture.ts";
import { chosen, isWeight, oneStep, paramsOf } from "./names.ts";
import type { Tuning } from "./tuning.ts";
import { windowGraphs } from "./windowGraph.ts";
import type { WindowSizes } from "./windowGraph.ts";

export interface FullOptions extends WindowSizes {
  /** Parts of names, or patterns with `*`; every weight without it. */
  readonly tensors?: readonly string[];
  readonly signal?: AbortSignal;
}

export interface FullTuning extends Tuning {
  readonly kind: "full";
}

/** Numbers that are trained: what they take in f32, without gradients and moments. */
const MOST_NUMBERS = 2 ** 29;

/** The forward graph, names and first numbers for a `TrainingSession` that trains the model's own weights. */
export async function fullTuning(file: GgufFile, options: FullOptions): Promise<FullTuning> {
  const { tensors: patterns, signal } = options;
  requireNoAdapters(file, "training");
  const architecture = requireReadingDecoder(file);
  const stored = weightSourceOf(file);
  const all = floatsRead(file, oneStep(architecture, stored));
  const asked = chosen(all, patterns, isWeight, "a weight of the model");
  const graphs = windowGraphs(architecture, asFloats(stored, new Set(asked)), asked, options);
  const { loss: graph, logits, trained: trainable } = graphs;
  const count = trainable.reduce((sum, name) => sum + file.requireTensor(name).elements, 0);
  if (count > MOST_NUMBERS)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[training] tensors: got ${count} numbers to train, expected at most ${MOST_NUMBERS}`,
      { hint: "Name fewer tensors, or train an adapter (LoRA)." },
    );
  const initial: Record<string, Float32Array> = {};
  for (const name of trainable) {
    const tensor = file.requireTensor(name);
    const { element } = tensor.type;
    if (element === undefined) continue;
    initial[name] = dequantize(element, await file.readTensor(tensor, { signal }), tensor.elements);
  }
  return { kind: "full", graph, logits, trainable, initial, context: options.context, batch: options.batch };
}

/** Tensors of the file that the graph reads as numbers, in its order. */
const floatsRead = (file: GgufFile, graph: Graph): readonly string[] =>
  [...paramsOf(graph)].flatMap(([name, { dtype }]) =>
    (isFloat(dtype) || isPacked(dtype)) && file.tensor(name)?.type.element !== undefined ? [name] : [],
  );

const asFloats = (stored: WeightSource, trained: ReadonlySet<string>): WeightSource => ({
  ...stored,
  tensorType(name, shape) {
    const type = stored.tensorType(name, shape);
    return type && trained.has(name) ? { dtype: "f32", shape: type.shape } : type;
  },
});
