/** Writes a file in other types, tensor by tensor and a piece of rows at a time, and measures what each lost. */
import { invariant, throwIfCancelled, WorkbenchError } from "../diagnostics/errors.ts";
import type { ByteSink } from "../formats/byteSink.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import { quote } from "../formats/gguf/header.ts";
import type { TensorToWrite } from "../formats/gguf/write.ts";
import { bytesOf, tensorToWrite, writeGguf } from "../formats/gguf/write.ts";
import type { Repack } from "../ir/repack.ts";
import type { Importance } from "./importance.ts";
import type { PlannedTensor, QuantizePlan } from "./plan.ts";
import { needsImportance } from "./recipes.ts";

export interface TensorReport {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly bytes: number;
  /** Root of the mean square error over that of the values; 0 for what is kept. */
  readonly relativeError: number;
}

export interface QuantizeProgress {
  readonly tensor: string;
  readonly done: number;
  readonly of: number;
  readonly doneBytes: number;
  readonly totalBytes: number;
  /** Of the tensor that is complete. */
  readonly report?: TensorReport;
}

export interface WriteOptions {
  readonly repack: Repack;
  readonly importance?: Importance;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: QuantizeProgress) => void;
}

export interface QuantizeReport {
  readonly bytes: number;
  readonly tensors: readonly TensorReport[];
  readonly relativeError: number;
}

/** Bytes of rows that are read and packed at a time. */
const PIECE = 8 << 20;

interface Sums {
  energy: number;
  error: number;
}

export async function writeQuantized(
  file: GgufFile,
  plan: QuantizePlan,
  sink: ByteSink,
  options: WriteOptions,
): Promise<QuantizeReport> {
  try {
    checkImportance(plan, options.importance);
  } catch (error) {
    await sink.abandon();
    throw error;
  }
  const reports: TensorReport[] = [];
  const all: Sums = { energy: 0, error: 0 };
  let doneBytes = 0;
  const progress = (tensor: string, report?: TensorReport): void =>
    options.onProgress?.({
      tensor,
      done: reports.length,
      of: plan.tensors.length,
      doneBytes,
      totalBytes: plan.byteLength,
      ...(report === undefined ? {} : { report }),
    });

  async function* pieces(planned: PlannedTensor): AsyncGenerator<Uint8Array> {
    const { tensor, type } = planned;
    const sums: Sums = { energy: 0, error: 0 };
    progress(tensor.name);
    for await (const piece of piecesOf(file, planned, sums, options)) {
      yield piece;
      doneBytes += piece.byteLength;
      progress(tensor.name);
    }
    all.energy += sums.energy;
    all.error += sums.error;
    const report = {
      name: tensor.name,
      from: tensor.type.name,
      to: type.name,
      bytes: planned.byteLength,
      relativeError: relative(sums),
    };
    reports.push(report);
    progress(tensor.name, report);
  }

  const tensors: readonly TensorToWrite[] = plan.tensors.map((planned) => ({
    name: planned.tensor.name,
    type: planned.type,
    dims: planned.tensor.dims,
    byteLength: planned.byteLength,
    data: () => pieces(planned),
  }));
  const bytes = await writeGguf(sink, { entries: plan.entries, tensors }, { signal: options.signal });
  return { bytes, tensors: reports, relativeError: relative(all) };
}

/** It is there where the recipe needs one, and is that of this model. */
function checkImportance({ recipe, tensors }: QuantizePlan, importance: Importance | undefined): void {
  if (importance === undefined) {
    if (!needsImportance(recipe)) return;
    throw new WorkbenchError("INPUT_ARGUMENT", `[quantize] ${recipe}: got no importance matrix, expected one`, {
      hint: "Give one, or choose a recipe with more bits, such as q3_k_m.",
    });
  }
  const known = tensors.filter(({ tensor }) => importance.of(tensor.name, ...matricesOf(tensor)) !== undefined);
  if (known.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[imatrix] got none of the model's weights, expected some of them", {
      hint: "This importance matrix was made for another model.",
    });
}

/** Columns of a row, and how many matrices there are. */
const matricesOf = ({ dims, elements }: GgufTensor): readonly [columns: number, matrices: number] => {
  const [columns = 1, rows = 1] = dims;
  return [columns, elements / columns / rows];
};

const relative = ({ energy, error }: Sums): number => (energy === 0 ? 0 : Math.sqrt(error / energy));

async function* piecesOf(
  file: GgufFile,
  { tensor, type }: PlannedTensor,
  sums: Sums,
  options: WriteOptions,
): AsyncGenerator<Uint8Array> {
  if (type.id === tensor.type.id) {
    for await (const bytes of tensorToWrite(tensor.name, bytesOf(file, tensor)).data()) {
      throwIfCancelled(options.signal);
      yield bytes;
    }
    return;
  }
  const [from, to] = [tensor.type.element, type.element];
  invariant(from !== undefined && to !== undefined, `[quantize] the plan packs ${tensor.name}`);
  const [columns, matrices] = matricesOf(tensor);
  const rows = tensor.elements / columns;
  const rowBytes = tensor.byteLength / rows;
  const matrixRows = rows / matrices;
  const importance = options.importance?.of(tensor.name, columns, matrices);
  // A piece never crosses from one expert to the next: each has an importance of its own.
  const most = Math.max(1, Math.floor(PIECE / rowBytes));
  for (let row = 0; row < rows;) {
    throwIfCancelled(options.signal);
    const expert = Math.floor(row / matrixRows);
    const count = Math.min(most, importance === undefined ? rows - row : (expert + 1) * matrixRows - row);
    const bytes = await file.readTensor(tensor, {
      offset: row * rowBytes,
      length: count * rowBytes,
      signal: options.signal,
    });
    const own = importance?.[expert] ?? null;
    const packed = await options.repack({ from, bytes, to, columns, importance: own }, options.signal);
    if (packed.notFinite > 0) throw notFinite(tensor, packed.notFinite, row, count);
    sums.energy += packed.energy;
    sums.error += packed.error;
    yield packed.bytes;
    row += count;
  }
}

const notFinite = ({ name }: GgufTensor, count: number, row: number, rows: number): WorkbenchError =>
  new WorkbenchError(
    "INPUT_MALFORMED",
    `[quantize] ${quote(name)}: got values that are not finite, ${count} in rows ${row} to ${row + rows - 1}, expected numbers`,
    { hint: "The file is damaged: download or convert it again." },
  );
