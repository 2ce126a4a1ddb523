/**
 * An importance matrix: for each weight the mean square of what its columns were multiplied by, over a text. Columns that see
 * large values are packed more exactly. For experts, one row each.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import { quote } from "../formats/gguf/header.ts";

export class Importance {
  readonly #means: ReadonlyMap<string, readonly Float32Array[]>;

  constructor(means: ReadonlyMap<string, readonly Float32Array[]>) {
    this.#means = means;
  }

  get size(): number {
    return this.#means.size;
  }

  /** One for each matrix of the tensor; undefined for a tensor that the text did not reach. */
  of(tensor: string, columns: number, matrices: number): readonly Float32Array[] | undefined {
    const means = this.#means.get(tensor);
    if (means === undefined) return undefined;
    if (means.length === matrices && means.every((row) => row.length === columns)) return means;
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[imatrix] ${tensor}: got ${means.length} × ${means[0]?.length ?? 0} numbers, expected ${matrices} × ${columns}`,
      { hint: "This importance matrix was made for another model." },
    );
  }
}

/** As llama.cpp writes it: for each weight `<name>.in_sum2` and `<name>.counts`. */
export async function readImportance(file: GgufFile): Promise<Importance> {
  if (file.metadata.optionalString("general.type") !== "imatrix")
    throw new WorkbenchError("INPUT_ARGUMENT", `[imatrix] ${file.name}: got a model, expected an importance matrix`, {
      hint: "Make one with llama-imatrix, as a GGUF.",
    });
  const means = new Map<string, readonly Float32Array[]>();
  for (const sums of file.tensors) {
    const name = SUMS.exec(sums.name)?.[1];
    if (name === undefined) continue;
    const counts = await floatsOf(file, file.requireTensor(`${name}.counts`));
    const [columns = 1] = sums.dims;
    const values = await floatsOf(file, sums);
    means.set(
      name,
      Array.from({ length: values.length / columns }, (_, i) =>
        meansOf(values.subarray(i * columns, (i + 1) * columns), counts[i] ?? 0),
      ),
    );
  }
  return new Importance(means);
}

const SUMS = /^(.+)\.in_sum2$/u;

async function floatsOf(file: GgufFile, tensor: GgufTensor): Promise<Float32Array> {
  if (tensor.type.name !== "f32")
    throw new WorkbenchError(
      "INPUT_MALFORMED",
      `[imatrix] ${quote(tensor.name)}: got ${tensor.type.name}, expected f32`,
      {
        hint: "The file is damaged, or from another program.",
      },
    );
  const bytes = await file.readTensor(tensor);
  return new Float32Array(bytes.slice().buffer);
}

/** An expert that no token reached counts all its columns alike. */
const meansOf = (sums: Float32Array, count: number): Float32Array => sums.map((sum) => (count > 0 ? sum / count : 1));
