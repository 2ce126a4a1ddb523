/**
 * What a training made, as files: an adapter, as llama.cpp reads it, or the whole model with changed weights. Nothing is held in
 * memory but what was trained: tensors are read, changed and written a piece at a time.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { partShapes, readLowRank, requireNoAdapters } from "../../formats/gguf/adapters.ts";
import type { LowRankNumbers } from "../../formats/gguf/adapters.ts";
import type { ConvertPlan } from "../../formats/gguf/convert.ts";
import { planConvert } from "../../formats/gguf/convert.ts";
import { numberEntry, stringEntry } from "../../formats/gguf/encode.ts";
import type { GgufFile, GgufTensor } from "../../formats/gguf/file.ts";
import type { GgufContents, TensorToWrite } from "../../formats/gguf/write.ts";
import { tensorToWrite } from "../../formats/gguf/write.ts";
import type { TargetType, TensorBytes } from "../../formats/tensorBytes.ts";
import { converted, floatsBytes, rowsAdded, typeNamed } from "../../formats/tensorBytes.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { sizeOfShape } from "../algebra.ts";
import { EMBEDDING } from "../../models/blocks.ts";
import type { LoraTuning } from "./lora.ts";
import type { Tuning } from "./tuning.ts";

/** Weights by name, as `TrainingSession.params` gives them. */
export type TrainedNumbers = Readonly<Record<string, Pick<HostTensor, "data">>>;

/** Types that A and B can have in a file. */
export const ADAPTER_TYPES = ["f32", "f16"] as const;
export type AdapterType = (typeof ADAPTER_TYPES)[number];

function numbersOf(params: TrainedNumbers, name: string, count: number): Float32Array {
  const data = params[name]?.data;
  if (data?.length !== count)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[training] ${name}: got ${data === undefined ? "no numbers" : `${data.length} numbers`}, expected ${count}`,
      { hint: "Give the parameters of the session that trained this." },
    );
  if (!data.every(Number.isFinite))
    throw new WorkbenchError("INPUT_ARGUMENT", `[training] ${name}: got values that are no finite numbers`, {
      hint: "The training went wrong: lower the learning rate, clip the gradients, or go back to a checkpoint.",
    });
  return Float32Array.from(data);
}

/** The file of an adapter: `writeGguf` writes it, our loader and llama.cpp open it with the model. */
export function adapterContents(
  model: GgufFile,
  { tensors, rank, alpha }: LoraTuning,
  params: TrainedNumbers,
  { type = "f32", name = "adapter" }: { readonly type?: AdapterType; readonly name?: string } = {},
): GgufContents<TensorToWrite> {
  const entries = [
    stringEntry("general.architecture", model.metadata.optionalString("general.architecture") ?? ""),
    stringEntry("general.type", "adapter"),
    stringEntry("general.name", name),
    stringEntry("adapter.type", "lora"),
    numberEntry("adapter.lora.alpha", "f32", alpha),
    numberEntry("general.file_type", "u32", type === "f32" ? 0 : 1),
  ];
  const part = (own: string, shape: readonly number[]): TensorToWrite => {
    const values = numbersOf(params, own, sizeOfShape(shape));
    return tensorToWrite(own, converted(floatsBytes(values, shape.toReversed()), typeNamed(type)));
  };
  return {
    entries,
    tensors: tensors.flatMap((tensor) => {
      const { a, b } = partShapes(tensor, model.requireTensor(tensor).shape, rank);
      return [part(`${tensor}.lora_a`, a), part(`${tensor}.lora_b`, b)];
    }),
  };
}

/** A model with trained weights, or with a trained adapter added to its weights, in a type of floats or Q8_0. */
export function tunedPlan(model: GgufFile, tuning: Tuning, params: TrainedNumbers, type: TargetType): ConvertPlan {
  requireNoAdapters(model, "training");
  if (isLora(tuning)) {
    const changes = tuning.tensors.map((tensor): LowRankNumbers => {
      const { a, b } = partShapes(tensor, model.requireTensor(tensor).shape, tuning.rank);
      return {
        ...{ tensor, rank: tuning.rank, factor: tuning.alpha / tuning.rank },
        a: numbersOf(params, `${tensor}.lora_a`, sizeOfShape(a)),
        b: numbersOf(params, `${tensor}.lora_b`, sizeOfShape(b)),
      };
    });
    return mergedWith(model, changes, type);
  }
  const changed = new Map(
    tuning.trainable.map((name) => [name, numbersOf(params, name, model.requireTensor(name).elements)]),
  );
  return planConvert(model, { type }, (tensor, bytes) => {
    const values = changed.get(tensor.name);
    return values === undefined ? bytes : floatsBytes(values, tensor.dims);
  });
}

const isLora = (tuning: Tuning): tuning is LoraTuning => tuning.kind === "lora";

/** A model that is open with adapters, with what they add in its own weights. Writing it reads the adapters first. */
export async function mergedPlan(opened: GgufFile, type: TargetType, signal?: AbortSignal): Promise<ConvertPlan> {
  if (opened.adapters.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", `[merge] ${opened.name}: got a model without adapters`, {
      hint: "Open the model with the adapters that are to be merged.",
    });
  return mergedWith(opened.withoutAdapters(), await readLowRank(opened, signal), type);
}

function mergedWith(model: GgufFile, changes: readonly LowRankNumbers[], type: TargetType): ConvertPlan {
  if (changes.some(({ tensor }) => tensor === EMBEDDING) && model.tensor("output.weight") === undefined)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[merge] ${EMBEDDING}: got a change of a matrix that gives the logits too, expected one of its rows alone`,
      {
        hint: "Keep this adapter beside the model: it changes what tokens mean, and not what the output multiplies by.",
      },
    );
  return planConvert(model, { type }, (tensor, bytes) =>
    changes
      .filter((change) => change.tensor === tensor.name)
      .reduce((sum, change) => withLowRank(sum, tensor, change), bytes),
  );
}

/** W + factor · B A, row by row; of the embedding, whose A has a row for each token, W + factor · A Bᵀ. */
function withLowRank(bytes: TensorBytes, { name, shape }: GgufTensor, change: LowRankNumbers): TensorBytes {
  const { rank, factor, a, b } = change;
  const [rows = 1, columns = 1] = shape.slice(-2);
  const matrixRows = rows;
  if (name === EMBEDDING)
    return rowsAdded(bytes, (row, out) => {
      for (let k = 0; k < rank; k++) {
        const share = factor * (a[row * rank + k] ?? 0);
        for (let column = 0; column < columns; column++)
          out[column] = (out[column] ?? 0) + share * (b[column * rank + k] ?? 0);
      }
    });
  return rowsAdded(bytes, (row, out) => {
    // Experts are matrices one behind the other; each has an A of its own.
    const first = Math.floor(row / matrixRows) * rank * columns;
    for (let k = 0; k < rank; k++) {
      const share = factor * (b[row * rank + k] ?? 0);
      const line = a.subarray(first + k * columns, first + (k + 1) * columns);
      for (let column = 0; column < columns; column++) out[column] = (out[column] ?? 0) + share * (line[column] ?? 0);
    }
  });
}
