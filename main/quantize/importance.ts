/**
 * An importance matrix: for each weight the mean square of what its columns were multiplied by, over a text. Columns that see
 * large values are packed more exactly. For experts, one row each.
 */
import { invariant, WorkbenchError } from "../diagnostics/errors.ts";
import type { ByteSink } from "../formats/byteSink.ts";
import type { ByteSource } from "../formats/byteSource.ts";
import { numberEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import { quote } from "../formats/gguf/header.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import type { TensorToWrite } from "../formats/gguf/write.ts";
import { writeGguf } from "../formats/gguf/write.ts";
import type { GatheredInputs } from "../ir/inputSquares.ts";

export class Importance {
  readonly #means: ReadonlyMap<string, Float32Array>;

  /** Of each tensor, one row of columns after the other. */
  constructor(means: ReadonlyMap<string, Float32Array>) {
    this.#means = means;
  }

  /** One for each matrix of the tensor; undefined for a tensor that the text did not reach. */
  of(tensor: string, columns: number, matrices: number): readonly Float32Array[] | undefined {
    const means = this.#means.get(tensor);
    if (means === undefined) return undefined;
    if (means.length === matrices * columns)
      return Array.from({ length: matrices }, (_, i) => means.subarray(i * columns, (i + 1) * columns));
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[imatrix] ${quote(tensor)}: got ${means.length} numbers, expected ${matrices} × ${columns}`,
      { hint: "This importance matrix was made for another model." },
    );
  }
}

export interface ImportanceSource {
  /** Name of the text. */
  readonly text: string;
  readonly chunks: number;
  /** Tokens of one. */
  readonly chunk: number;
}

/** In the form that llama.cpp reads, too: sums of squares and counts for each weight, in the order of their names. */
export function writeImportance(sink: ByteSink, inputs: GatheredInputs, source: ImportanceSource): Promise<number> {
  const type = ggmlTypeByName("f32");
  invariant(type, "[imatrix] f32 is a type");
  const floats = (name: string, columns: number, values: Float64Array): TensorToWrite => ({
    name,
    type,
    dims: [columns, values.length / columns],
    data: () => [new Uint8Array(Float32Array.from(values).buffer)],
  });
  const names = [...inputs.keys()].toSorted();
  return writeGguf(sink, {
    entries: [
      stringEntry("general.type", "imatrix"),
      stringsEntry("imatrix.datasets", [source.text]),
      numberEntry("imatrix.chunk_count", "u32", source.chunks),
      numberEntry("imatrix.chunk_size", "u32", source.chunk),
    ],
    tensors: names.flatMap((name) => {
      const of = inputs.get(name);
      return of === undefined
        ? []
        : [floats(`${name}.in_sum2`, of.columns, of.sums), floats(`${name}.counts`, 1, of.counts)];
    }),
  });
}

/** A GGUF, or the older form of llama.cpp without a name for itself. The source is closed in any case. */
export async function readImportance(source: ByteSource): Promise<Importance> {
  try {
    const front = await source.read(0, Math.min(4, source.byteLength));
    const isGguf = new TextDecoder().decode(front) === "GGUF";
    const means = isGguf ? await readGguf(await openGguf(source)) : await readOld(source);
    if (means.size === 0) throw noImportance(source.name);
    for (const [name, values] of means)
      if (!values.every((value) => value >= 0 && value < Infinity))
        throw malformed(source.name, `${quote(name)}: got means that are negative or no numbers, expected squares`);
    return new Importance(means);
  } finally {
    await source.close();
  }
}

const MAKE_ONE = { hint: "Make one with rlx imatrix." };
const noImportance = (name: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[imatrix] ${name}: got other bytes, expected an importance matrix`, MAKE_ONE);
const malformed = (name: string, what: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[imatrix] ${name}: ${what}`, {
    hint: "The file is damaged, or from another program.",
  });

type Means = ReadonlyMap<string, Float32Array>;

/** For each weight `<name>.in_sum2` and `<name>.counts`. */
async function readGguf(file: GgufFile): Promise<Means> {
  if (file.metadata.optionalString("general.type") !== "imatrix")
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[imatrix] ${file.name}: got a model, expected an importance matrix`,
      MAKE_ONE,
    );
  if (file.byteLength > LARGEST)
    throw new WorkbenchError("INPUT_LIMIT", `[imatrix] ${file.name}: got ${file.byteLength} bytes, expected fewer`, {
      hint: "No known model has an importance matrix this large; the file is probably damaged.",
    });
  const means = new Map<string, Float32Array>();
  for (const sums of file.tensors) {
    const name = SUMS.exec(sums.name)?.[1];
    if (name === undefined) continue;
    const counts = await floatsOf(file, file.requireTensor(`${name}.counts`));
    const values = await floatsOf(file, sums);
    const columns = sums.dims[0] ?? 1;
    if (counts.length * columns !== values.length)
      throw malformed(
        file.name,
        `${quote(sums.name)}: got ${counts.length} counts, expected ${values.length / columns}`,
      );
    means.set(
      name,
      values.map((sum, i) => meanOf(sum, counts[Math.floor(i / columns)] ?? 0)),
    );
  }
  return means;
}

const SUMS = /^(.+)\.in_sum2$/u;
/** All of it is held in memory. The largest known ones, of models with 256 experts, take 1 GB. */
const LARGEST = 2 ** 32;

/** A count of weights, and for each: its name, a number of runs, and means times that number. */
async function readOld(source: ByteSource): Promise<Means> {
  const refused = (): WorkbenchError => noImportance(source.name);
  if (source.byteLength > LARGEST) throw refused();
  const bytes = await source.read(0, source.byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (size: number): number => {
    if (size < 0 || at + size > bytes.byteLength) throw refused();
    at += size;
    return at - size;
  };
  const number = (): number => view.getInt32(take(4), true);
  const means = new Map<string, Float32Array>();
  for (let left = number(); left > 0; left--) {
    const length = number();
    const from = take(length);
    const name = new TextDecoder().decode(bytes.subarray(from, from + length));
    const runs = number();
    const count = number();
    const start = take(4 * count);
    means.set(
      name,
      Float32Array.from({ length: count }, (_, i) => meanOf(view.getFloat32(start + 4 * i, true), runs)),
    );
  }
  return means;
}

async function floatsOf(file: GgufFile, tensor: GgufTensor): Promise<Float32Array> {
  if (tensor.type.name !== "f32")
    throw malformed(file.name, `${quote(tensor.name)}: got ${tensor.type.name}, expected f32`);
  const bytes = await file.readTensor(tensor);
  return new Float32Array(bytes.slice().buffer);
}

/** An expert that no token reached counts all its columns alike. */
const meanOf = (sum: number, count: number): number => (count > 0 ? sum / count : 1);
