/**
 * What each Core ML weight profile costs in exactness, from a few rows of each tensor type: converted as the export would,
 * decompressed as Core ML would, compared with the file's own values. The export measures some rows of every tensor; this
 * reads some hundred kilobytes and answers at once.
 */
import { foldFor, newFacts, reconstruct, RowConverter } from "../../backends/coreml/weights/convert.ts";
import type { WeightForm, WeightProfile } from "../../backends/coreml/weights/forms.ts";
import { formFor, formText, WEIGHT_PROFILES } from "../../backends/coreml/weights/forms.ts";
import { fileBytes } from "../../backends/coreml/weights/plan.ts";
import type { WeightErrors } from "../../contract/views/model.ts";
import type { GgufFile, GgufTensor } from "../../formats/gguf/file.ts";
import { dequantize } from "../../formats/quant/dequantize.ts";
import type { ElementType } from "../../ir/dtype.ts";
import type { Steps } from "../../ir/steps.ts";
import { figure } from "../measure/forecast.ts";
import type { OpenModel } from "./openModel.ts";
import type { TaskKind } from "./taskCache.ts";
import { inSlices, tasksOf } from "./taskCache.ts";

const ERRORS: TaskKind<WeightErrors> = { name: "weight errors", keep: 1 };

/** Per type: tensors and rows looked at, spread evenly over what there is. */
const TENSORS = 4;
const ROWS = 6;
/** Of a row no more than this, a multiple of every block: in a file from anywhere a whole tensor may be one row. */
const COLUMNS = 16_384;

export const SAMPLED_BASIS = `‖W′ − W‖ / ‖W‖ over up to ${ROWS} rows of ${TENSORS} tensors of each type`;

export interface Sample {
  readonly type: ElementType;
  readonly parameters: number;
  readonly rows: readonly { readonly bytes: Uint8Array; readonly exact: Float32Array }[];
}

/** Some of `count` places, evenly. */
export function spread(count: number, wanted: number): readonly number[] {
  const n = Math.min(count, wanted);
  return Array.from({ length: n }, (_, i) => Math.floor(((i + 0.5) * count) / n));
}

async function sampledRows(
  file: GgufFile,
  tensor: GgufTensor,
  type: ElementType,
  signal: AbortSignal,
): Promise<Sample["rows"]> {
  const columns = tensor.shape.at(-1) ?? 1;
  const stride = fileBytes(type, columns);
  const taken = Math.min(columns, COLUMNS);
  const length = fileBytes(type, taken);
  const rows: Sample["rows"][number][] = [];
  for (const row of spread(tensor.elements / columns, ROWS)) {
    const read = await file.readTensor(tensor, { offset: row * stride, length, signal });
    // A copy of its own: the converter reads it as wider numbers, which need their alignment.
    const bytes = read.slice();
    rows.push({ bytes, exact: dequantize(type, bytes, taken) });
  }
  return rows;
}

/** A few rows of each type; undefined when a tensor has a type that nothing here reads. */
export async function samples(file: GgufFile, signal: AbortSignal): Promise<readonly Sample[] | undefined> {
  const byType = new Map<ElementType, GgufTensor[]>();
  for (const tensor of file.tensors) {
    const type = tensor.type.element;
    if (type === undefined) return undefined;
    const known = byType.get(type);
    if (known === undefined) byType.set(type, [tensor]);
    else known.push(tensor);
  }
  const found: Sample[] = [];
  for (const [type, tensors] of byType) {
    const rows: Sample["rows"][number][] = [];
    for (const i of spread(tensors.length, TENSORS)) {
      const tensor = tensors[i];
      if (tensor !== undefined) rows.push(...(await sampledRows(file, tensor, type, signal)));
    }
    found.push({ type, parameters: tensors.reduce((sum, { elements }) => sum + elements, 0), rows });
  }
  return found;
}

interface Part {
  readonly error: number;
  readonly energy: number;
}

/** Σ(w′ − w)² and Σw² of the sampled rows under a form, by parameter of the type. */
function* errorOf({ type, rows }: Sample, form: WeightForm): Steps<Part> {
  let [error, energy, count] = [0, 0, 0];
  for (const { bytes, exact } of rows) {
    yield;
    const probe = new RowConverter(type, form, 0, dequantize, newFacts());
    probe.convert(bytes, exact.length);
    const size = exact.reduce((sum, value) => sum + value * value, 0);
    const fold = foldFor(probe.facts, size);
    const parts = new RowConverter(type, form, fold, dequantize).convert(bytes, exact.length);
    const stored = reconstruct(form, parts, exact.length, fold);
    exact.forEach((value, i) => (error += ((stored[i] ?? 0) - value) ** 2));
    energy += size;
    count += exact.length;
  }
  return count === 0 ? { error: 0, energy: 0 } : { error: error / count, energy: energy / count };
}

const percent = (relative: number): string =>
  relative === 0 ? "exact" : `${(relative * 100).toPrecision(relative < 1e-4 ? 1 : 2)} %`;
export const relativeOf = (error: number, energy: number): number => (energy === 0 ? 0 : Math.sqrt(error / energy));

function* rowOf(found: readonly Sample[], profile: WeightProfile): Steps<WeightErrors["rows"][number]> {
  let [error, energy] = [0, 0];
  const words: string[] = [];
  for (const sample of found) {
    const form = formFor(sample.type, profile);
    const part = yield* errorOf(sample, form);
    error += part.error * sample.parameters;
    energy += part.energy * sample.parameters;
    words.push(`${sample.type.toUpperCase()} to ${formText(form)}: ${percent(relativeOf(part.error, part.energy))}`);
  }
  return {
    profile,
    error: figure(relativeOf(error, energy), "ratio", "measured", SAMPLED_BASIS),
    sentence: `${words.join("; ")}.`,
  };
}

function* rowsOf(found: readonly Sample[]): Steps<WeightErrors> {
  const rows: WeightErrors["rows"][number][] = [];
  for (const profile of WEIGHT_PROFILES) rows.push(yield* rowOf(found, profile));
  return { rows };
}

export async function weightErrors(file: GgufFile, signal: AbortSignal): Promise<WeightErrors> {
  const found = file.hasData ? await samples(file, signal) : undefined;
  return found === undefined ? { rows: [] } : inSlices(rowsOf(found), signal);
}

/** Measured once per open model. */
export const weightErrorsOf = (model: OpenModel, signal: AbortSignal): Promise<WeightErrors> => {
  const file = model.requireFile("weights");
  return tasksOf(model).get(ERRORS, "", signal, (own) => weightErrors(file, own));
};
