/**
 * How far the values of a file are from those of another one of the same model, tensor by tensor, and what of it cannot be
 * compared. Names and shapes are GGUF's on both sides: a folder of safetensors is read as the GGUF that it would become.
 */
import { throwIfCancelled, WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import type { Measure } from "../ir/measure.ts";
import type { Difference } from "./scan.ts";
import { decibelsOf, relativeOf, scanTensor } from "./scan.ts";

export interface ComparedTensor extends Difference {
  readonly tensor: string;
  readonly type: string;
  /** Type in the other file. */
  readonly theirs: string;
}

/** A tensor without numbers, and the reason. */
export interface LeftOut {
  readonly tensor: string;
  readonly why: string;
}

/** Over all values of some tensors. */
export interface ErrorSum {
  readonly tensors: number;
  readonly values: number;
  readonly rmse: number;
  readonly relative: number;
  readonly decibels: number;
}

export interface Comparison {
  /** In the order of the file, at most MOST_ROWS. */
  readonly rows: readonly ComparedTensor[];
  readonly moreRows: number;
  readonly left: readonly LeftOut[];
  readonly onlyThere: readonly string[];
  readonly sum: ErrorSum;
}

export interface CompareProgress {
  readonly tensor: string;
  readonly done: number;
  readonly of: number;
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface CompareOptions {
  readonly measure: Measure;
  /** Which tensors; all without it. */
  readonly only?: ((tensor: GgufTensor) => boolean) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CompareProgress) => void) | undefined;
}

/** More than any model has; a file from anywhere may have a million tensors. */
const MOST_ROWS = 20_000;

export async function compareFiles(file: GgufFile, other: GgufFile, options: CompareOptions): Promise<Comparison> {
  const { measure, signal, only = () => true } = options;
  const asked = file.tensors.filter(only);
  const left: LeftOut[] = [];
  const found = asked.filter((tensor) => {
    const why = whyNot(tensor, other);
    if (why !== undefined) left.push({ tensor: tensor.name, why });
    return why === undefined;
  });
  requireCommon(file, other, { asked: asked.length, found: found.length });
  const totalBytes = found.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const rows: ComparedTensor[] = [];
  const sum = new ErrorSums();
  let doneBytes = 0;
  for (const [done, tensor] of found.entries()) {
    throwIfCancelled(signal);
    const report = (): void =>
      options.onProgress?.({ tensor: tensor.name, done, of: found.length, doneBytes, totalBytes });
    report();
    const end = doneBytes + tensor.byteLength;
    const onBytes = (bytes: number): void => {
      doneBytes += bytes;
      report();
    };
    const { difference } = await scanTensor(file, tensor, { measure, against: other, signal, onBytes });
    doneBytes = end;
    if (difference === null) continue;
    sum.add(difference);
    if (rows.length >= MOST_ROWS) continue;
    const theirs = other.requireTensor(tensor.name).type.name;
    rows.push({ tensor: tensor.name, type: tensor.type.name, theirs, ...difference });
  }
  const onlyThere = other.tensors.flatMap((tensor) =>
    only(tensor) && file.tensor(tensor.name) === undefined ? tensor.name : [],
  );
  return { rows, moreRows: sum.tensors - rows.length, left, onlyThere, sum: sum.whole };
}

const OUTPUT = "output.weight";
const EMBEDDING = "token_embd.weight";

/** Why a tensor has no numbers to set against; undefined where it has. */
export function whyNot(tensor: GgufTensor, other: GgufFile): string | undefined {
  const { name, dims, elements, type } = tensor;
  const theirs = other.tensor(name);
  if (theirs === undefined)
    return name === OUTPUT && other.tensor(EMBEDDING) !== undefined
      ? `not in ${other.name}, whose output matrix is ${EMBEDDING}`
      : `not in ${other.name}`;
  if (theirs.dims.join() !== dims.join()) {
    const shapes = `[${dims.join(", ")}] here and [${theirs.dims.join(", ")}] in ${other.name}`;
    return theirs.elements === elements ? `${shapes}: as many values, in another order` : shapes;
  }
  if (type.element === undefined) return `${type.name} cannot be unpacked`;
  if (theirs.type.element === undefined) return `${theirs.type.name} of ${other.name} cannot be unpacked`;
  return undefined;
}

/** Nothing in common is a wrong file, not a result. */
function requireCommon(file: GgufFile, other: GgufFile, { asked, found }: { asked: number; found: number }): void {
  if (asked === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", `[compare] ${file.name}: got no tensors to compare, expected one`, {
      hint: "Name tensors that the file has.",
    });
  if (found > 0) return;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[compare] ${other.name}: got none of ${asked} tensors in the same shape, expected a file of the same model as ${file.name}`,
    { hint: "Choose another file of the same model: its original, or one in another type." },
  );
}

/** Differences of some tensors as one, each with as many values as were compared. */
export class ErrorSums {
  tensors = 0;
  #values = 0;
  #error = 0;
  #energy = 0;

  add({ compared, rmse, meanSquare }: Pick<Difference, "compared" | "rmse" | "meanSquare">): void {
    this.tensors++;
    this.#values += compared;
    this.#error += rmse * rmse * compared;
    this.#energy += meanSquare * compared;
  }

  get whole(): ErrorSum {
    const relative = relativeOf(this.#error, this.#energy);
    return {
      tensors: this.tensors,
      values: this.#values,
      rmse: this.#values === 0 ? 0 : Math.sqrt(this.#error / this.#values),
      relative,
      decibels: decibelsOf(relative),
    };
  }
}
