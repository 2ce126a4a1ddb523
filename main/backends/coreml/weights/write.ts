/**
 * Streams the planned weights into the weight file: a megabyte at a time, reading ahead while converting and writing
 * behind, so that memory stays flat whatever the size. Measures, per weight, what the mapping cost: every element beside the
 * converting where the caller can, or else some rows.
 */
import { throwIfCancelled } from "../../../diagnostics/errors.ts";
import type { PositionedSink } from "../blob.ts";
import { elementCount, packedByteLength } from "../mil/types.ts";
import type { ConversionFacts, ConvertedRows, Dequantize } from "./convert.ts";
import { RowConverter, asHalves, foldFor, newFacts } from "./convert.ts";
import { bitsPerWeight, formText } from "./forms.ts";
import type { ErrorSums, MeasureRows } from "./measure.ts";
import { measureRows } from "./measure.ts";
import type { Palette } from "./palette.ts";
import { HalfCounts } from "./palette.ts";
import type { PlannedWeight, SmallParts, WeightPlan } from "./plan.ts";
import { fileBytes, partKey, rowElements } from "./plan.ts";

/** The model file's side: bytes of a tensor, and what they mean. */
export interface WeightBytes {
  /** Bytes [offset, offset + length) of a tensor's data. */
  read(tensor: string, offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>;
  readonly dequantize: Dequantize;
  /** Measures every element; without it some rows of each tensor are measured here. */
  readonly measure?: MeasureRows;
}

export interface WeightReport {
  /** Of the tensor, or of a range of its rows. */
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
  /** "int4 centred, fp16 scale and rest per 32". */
  readonly form: string;
  readonly bitsPerWeight: number;
  readonly storedBytes: number;
  readonly fileBytes: number;
  /** ‖W′ − W‖ / ‖W‖ over the rows measured, as far as they are finite. */
  readonly rmsError: number;
  /** Of the elements measured: not finite in the file, and finite there but not in the package. */
  readonly notFinite: number;
  readonly overflowed: number;
  readonly rowsMeasured: number;
  readonly rows: number;
  /** The stored scales are 2^fold times the file's; the program multiplies by 2^-fold. */
  readonly fold: number;
}

export interface WriteOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (doneBytes: number, totalBytes: number, tensor: string) => void;
}

/** Small enough that a run of blocks, its codes and its scales stay in the second-level cache. */
const CHUNK_BYTES = 1 << 20;
/** Rows per tensor that are measured here, spread over it evenly: all of 1.2 G elements would take a minute (`measure.ts`). */
const MEASURED_ROWS = 16;

interface Job {
  readonly weight: PlannedWeight;
  readonly state: TensorState;
  readonly firstRow: number;
  readonly rows: number;
}

/** What is gathered about one tensor while its rows go by. */
interface TensorState {
  readonly fold: number;
  readonly facts: ConversionFacts;
  readonly rows: number;
  readonly columns: number;
  readonly measureEvery: number;
  /** The table of a tensor that has one, from all of its values. */
  palette: Palette | undefined;
  measured: number;
  error: number;
  energy: number;
  notFinite: number;
  overflowed: number;
}

function stateFor(weight: PlannedWeight, fold: number): TensorState {
  const columns = rowElements(weight);
  const rows = elementCount(weight.shape) / columns;
  return {
    fold,
    facts: newFacts(),
    rows,
    columns,
    measureEvery: Math.max(1, Math.floor(rows / MEASURED_ROWS)),
    palette: undefined,
    measured: 0,
    error: 0,
    energy: 0,
    notFinite: 0,
    overflowed: 0,
  };
}

/** Rows of a run are a multiple of this: packed codes of two runs never share a byte, and a palette's groups are whole. */
const RUN_ROWS = 16;

function* jobsOf(weight: PlannedWeight, state: TensorState): Generator<Job> {
  const rowBytes = fileBytes(weight.type, state.columns);
  const perJob = Math.max(RUN_ROWS, Math.floor(CHUNK_BYTES / rowBytes / RUN_ROWS) * RUN_ROWS);
  for (let firstRow = 0; firstRow < state.rows; firstRow += perJob)
    yield { weight, state, firstRow, rows: Math.min(perJob, state.rows - firstRow) };
}

/** Writes every planned weight and inline constant; the order of reports is the order of the plan. */
export async function writeWeights(
  plan: WeightPlan,
  source: WeightBytes,
  sink: PositionedSink,
  options: WriteOptions = {},
): Promise<readonly WeightReport[]> {
  for (const inline of plan.inlines) await sink.write(inline.record.dataOffset, inline.bytes);
  const states = new Map(plan.weights.map((w) => [w.name, stateFor(w, 0)]));
  const total = plan.weights.reduce((sum, w) => sum + fileBytes(w.type, elementCount(w.shape)), 0);
  const progress = { done: 0, total };
  await run(
    plan.weights.flatMap((w) => [...jobsOf(w, required(states, w.name))]),
    source,
    sink,
    options,
    progress,
  );
  for (const weight of plan.weights) {
    const first = required(states, weight.name);
    const fixed =
      (weight.form.kind === "plain" && weight.form.dtype === "fp32") ||
      weight.parts.some((p) => p.record === undefined);
    const fold = fixed ? 0 : foldFor(first.facts, tensorEnergy(first));
    if (fold === 0) continue;
    const again = stateFor(weight, fold);
    states.set(weight.name, again);
    progress.total += fileBytes(weight.type, elementCount(weight.shape));
    await run([...jobsOf(weight, again)], source, sink, options, progress);
  }
  return plan.weights.map((w) => report(w, required(states, w.name)));
}

/** The data of parts that stand in the program itself: needed before the program is final, read once more for it. */
export async function readSmallParts(plan: WeightPlan, source: WeightBytes, signal?: AbortSignal): Promise<SmallParts> {
  const small = new Map<string, Uint8Array>();
  for (const weight of plan.weights) {
    const wanted = weight.parts.filter((p) => p.record === undefined);
    if (wanted.length === 0) continue;
    const count = elementCount(weight.shape);
    const { name, part } = weight;
    const start = part === undefined ? 0 : fileBytes(weight.type, part.firstRow * rowElements(weight));
    const bytes = await source.read(part?.tensor ?? name, start, fileBytes(weight.type, count), signal);
    const parts = new RowConverter(weight.type, weight.form, 0, source.dequantize).convert(bytes, count);
    for (const { part } of wanted)
      small.set(partKey(weight.name, part), (parts.get(part) ?? new Uint8Array(0)).slice());
  }
  return small;
}

const tensorEnergy = (state: TensorState): number =>
  state.measured === 0 ? 0 : (state.energy / state.measured) * state.rows;

function required(states: ReadonlyMap<string, TensorState>, name: string): TensorState {
  return (
    states.get(name) ?? stateFor({ name, type: "f32", shape: [], form: { kind: "plain", dtype: "fp32" }, parts: [] }, 0)
  );
}

/** Two converters alternate, so that one's buffers can still be on their way to disk, and be measured, while the other works. */
async function run(
  jobs: readonly Job[],
  source: WeightBytes,
  sink: PositionedSink,
  options: WriteOptions,
  progress: { done: number; total: number },
): Promise<void> {
  const using: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];
  let converters: (RowConverter | undefined)[] = [undefined, undefined];
  let owner: TensorState | undefined;
  let next = jobs[0] === undefined ? undefined : readJob(jobs[0], source, options.signal);
  try {
    for (const [i, job] of jobs.entries()) {
      throwIfCancelled(options.signal);
      const bytes = (await next) ?? new Uint8Array(0);
      const following = jobs[i + 1];
      next = following === undefined ? undefined : readJob(following, source, options.signal);
      // A failure of the read ahead is met when it is awaited, not before.
      next?.catch(() => undefined);
      const { weight, state } = job;
      if (owner !== state) {
        converters = [undefined, undefined];
        if (owner !== undefined) owner.palette = undefined;
        owner = state;
        state.palette = await tensorPalette(job, source, options.signal);
      }
      const slot = i % 2;
      await using[slot];
      const converter = (converters[slot] ??= new RowConverter(
        weight.type,
        weight.form,
        state.fold,
        source.dequantize,
        state.facts,
        state.palette,
      ));
      const parts = converter.convert(bytes, job.rows * state.columns);
      using[slot] = settledTogether([measure(job, bytes, parts, source, options.signal), writeParts(job, parts, sink)]);
      using[slot].catch(() => undefined);
      progress.done += bytes.length;
      options.onProgress?.(progress.done, progress.total, weight.name);
    }
    await Promise.all(using);
  } finally {
    await Promise.allSettled([...using, next]);
  }
}

/** The table of a tensor that has one: all of it is read once more for that. */
async function tensorPalette(
  { weight, state }: Job,
  source: WeightBytes,
  signal: AbortSignal | undefined,
): Promise<Palette | undefined> {
  const { form, type } = weight;
  if (form.kind !== "palette" || form.rows !== undefined) return undefined;
  const counts = new HalfCounts();
  const converter = new RowConverter(type, form, state.fold, source.dequantize);
  for (const job of jobsOf(weight, state)) {
    throwIfCancelled(signal);
    counts.add(converter.halves(await readJob(job, source, signal), job.rows * state.columns));
  }
  throwIfCancelled(signal);
  return counts.palette(2 ** form.bits);
}

/** Fails like `Promise.all`, but not before the last of them has let go of what it reads. */
async function settledTogether(work: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(work);
  await Promise.all(work);
}

function readJob(job: Job, source: WeightBytes, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const rowBytes = fileBytes(job.weight.type, job.state.columns);
  const { name, part } = job.weight;
  const first = (part?.firstRow ?? 0) + job.firstRow;
  return source.read(part?.tensor ?? name, first * rowBytes, job.rows * rowBytes, signal);
}

async function writeParts(job: Job, parts: ConvertedRows, sink: PositionedSink): Promise<void> {
  const { weight, state } = job;
  for (const part of weight.parts) {
    // Of a tensor with one table, each run has it.
    if (part.part === "table" && weight.form.kind === "palette" && weight.form.rows === undefined && job.firstRow > 0)
      continue;
    const bytes = parts.get(part.part);
    const perRow = elementCount(part.shape) / state.rows;
    if (bytes !== undefined && part.record !== undefined)
      await sink.write(part.record.dataOffset + packedByteLength(part.dtype, job.firstRow * perRow), bytes);
  }
}

/** All elements of the rows just converted, or those of some rows that are converted once more by themselves. */
async function measure(
  job: Job,
  original: Uint8Array,
  parts: ConvertedRows,
  source: WeightBytes,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { state, rows } = job;
  if (source.measure === undefined) return measureSample(job, original, parts, source.dequantize);
  const { type, form } = job.weight;
  const run = { type, original, count: rows * state.columns, form, parts, fold: state.fold };
  add(state, await source.measure(run, signal), rows);
}

function measureSample(job: Job, bytes: Uint8Array, made: ConvertedRows, dequantize: Dequantize): void {
  const { weight, state } = job;
  const { type, form } = weight;
  const count = state.columns;
  const rowBytes = fileBytes(type, count);
  for (let row = job.firstRow; row < job.firstRow + job.rows; row++) {
    if (row % state.measureEvery !== 0 || state.measured >= MEASURED_ROWS) continue;
    const at = (row - job.firstRow) * rowBytes;
    const original = bytes.slice(at, at + rowBytes);
    const run = { type, original, count, fold: state.fold };
    // A row of a palette means nothing without the others that share its table.
    const stored =
      form.kind === "palette"
        ? asHalves(form, made, (row - job.firstRow) * count, count)
        : { form, parts: new RowConverter(type, form, state.fold, dequantize).convert(original, count) };
    add(state, measureRows({ ...run, ...stored }, dequantize), 1);
  }
}

function add(state: TensorState, sums: ErrorSums, rows: number): void {
  state.energy += sums.energy;
  state.error += sums.error;
  state.notFinite += sums.notFinite;
  state.overflowed += sums.overflowed;
  state.measured += rows;
}

function report(weight: PlannedWeight, state: TensorState): WeightReport {
  return {
    name: weight.name,
    type: weight.type,
    shape: weight.shape,
    form: formText(weight.form),
    bitsPerWeight: bitsPerWeight(weight.form),
    storedBytes: weight.parts.reduce((sum, p) => sum + packedByteLength(p.dtype, elementCount(p.shape)), 0),
    fileBytes: fileBytes(weight.type, elementCount(weight.shape)),
    rmsError: state.energy === 0 ? 0 : Math.sqrt(state.error / state.energy),
    notFinite: state.notFinite,
    overflowed: state.overflowed,
    rowsMeasured: state.measured,
    rows: state.rows,
    fold: state.fold,
  };
}
