/**
 * Two model files against each other: keys of their headers, tensors, and whether tensors of one form hold the same numbers. Of
 * numbers a few kilobytes of each tensor are read: training changes a tensor everywhere.
 */
import { hashBytes } from "../ir/hash.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import { previewValue } from "../formats/gguf/metadata.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";

/** A key that one file lacks, or whose values differ; values by their beginning. */
export interface ComparedKey {
  readonly key: string;
  readonly a: string | null;
  readonly b: string | null;
}

export interface TensorForm {
  readonly type: string;
  /** Row-major, as graphs see it. */
  readonly shape: readonly number[];
  readonly bytes: number;
}

export interface ComparedTensorForm {
  readonly name: string;
  readonly a: TensorForm | null;
  readonly b: TensorForm | null;
  /** Of two of one form: whether the sampled numbers agree; unknown where a file has no data here. */
  readonly numbers: "same" | "other" | "unknown" | null;
}

export interface ComparedFiles {
  /** file: header, size and sampled numbers agree · header: the header does, and numbers differ or cannot be read. */
  readonly same: "file" | "header" | "no";
  readonly keys: { readonly same: number; readonly rows: readonly ComparedKey[] };
  /** Rows are those that differ, the largest difference of bytes first. */
  readonly tensors: { readonly same: number; readonly rows: readonly ComparedTensorForm[] };
}

export interface CompareFilesOptions {
  readonly signal?: AbortSignal;
  /** Called with the share of the tensors that were looked at. */
  readonly onProgress?: (fraction: number) => void;
  /** False: headers only, where data is far away. */
  readonly readNumbers?: boolean;
}

/** Beginnings and ends of this many bytes are read of each tensor. */
const SAMPLE_BYTES = 4096;
/** A reader is told of progress this often. */
const TENSORS_PER_REPORT = 64;
const PREVIEW = 160;

export async function compareFiles(
  a: GgufFile,
  b: GgufFile,
  { signal, onProgress, readNumbers = true }: CompareFilesOptions = {},
): Promise<ComparedFiles> {
  const keys = compareKeys(a, b);
  const rows: ComparedTensorForm[] = [];
  let same = 0;
  let unknown = 0;
  const names = new Set([...a.tensors, ...b.tensors].map(({ name }) => name));
  let done = 0;
  for (const name of names) {
    signal?.throwIfAborted();
    if (done++ % TENSORS_PER_REPORT === 0) onProgress?.(done / names.size);
    const [mine, other] = [a.tensor(name), b.tensor(name)];
    const row = { name, a: formOf(mine), b: formOf(other) };
    if (mine === undefined || other === undefined || !isSameForm(mine, other)) {
      rows.push({ ...row, numbers: null });
      continue;
    }
    const numbers = readNumbers
      ? await compareNumbers({ file: a, tensor: mine }, { file: b, tensor: other }, signal)
      : a === b
        ? "same"
        : "unknown";
    if (numbers === "unknown") unknown++;
    if (numbers === "other") rows.push({ ...row, numbers });
    else same++;
  }
  const sameHeader = a.headerHash === b.headerHash && a.byteLength === b.byteLength;
  const weight = ({ a: one, b: two }: ComparedTensorForm): number => Math.abs((one?.bytes ?? 0) - (two?.bytes ?? 0));
  rows.sort((x, y) => weight(y) - weight(x));
  return {
    same: !sameHeader ? "no" : rows.length === 0 && (unknown === 0 || a === b) ? "file" : "header",
    keys,
    tensors: { same, rows },
  };
}

function compareKeys(a: GgufFile, b: GgufFile): ComparedFiles["keys"] {
  const rows: ComparedKey[] = [];
  let same = 0;
  const textOf = (entry: MetadataEntry | undefined): string | null =>
    entry === undefined ? null : previewValue(entry.value, PREVIEW);
  for (const key of new Set([...a.metadata.entries, ...b.metadata.entries].map((entry) => entry.key))) {
    const [mine, other] = [a.metadata.entry(key), b.metadata.entry(key)];
    if (mine !== undefined && other !== undefined && isSameValue(mine, other)) same++;
    else rows.push({ key, a: textOf(mine), b: textOf(other) });
  }
  return { same, rows };
}

const isSameValue = (a: MetadataEntry, b: MetadataEntry): boolean => a.type === b.type && sameBytes(a.raw, b.raw);

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.byteLength === b.byteLength && a.every((byte, i) => byte === b[i]);

const formOf = (tensor: GgufTensor | undefined): TensorForm | null =>
  tensor === undefined ? null : { type: tensor.type.name, shape: tensor.shape, bytes: tensor.byteLength };

const isSameForm = (a: GgufTensor, b: GgufTensor): boolean =>
  a.type.id === b.type.id && a.byteLength === b.byteLength && a.dims.join() === b.dims.join();

interface TensorOf {
  readonly file: GgufFile;
  readonly tensor: GgufTensor;
}

async function compareNumbers(
  a: TensorOf,
  b: TensorOf,
  signal: AbortSignal | undefined,
): Promise<"same" | "other" | "unknown"> {
  if (a.file === b.file) return "same";
  if (!a.file.hasData || !b.file.hasData) return "unknown";
  const length = Math.min(SAMPLE_BYTES, a.tensor.byteLength);
  const last = a.tensor.byteLength - length;
  for (const offset of last === 0 ? [0] : [0, last]) {
    const [mine, other] = await Promise.all(
      [a, b].map(({ file, tensor }) => file.readTensor(tensor, { offset, length, signal })),
    );
    if (mine === undefined || other === undefined || hashBytes(mine) !== hashBytes(other)) return "other";
  }
  return "same";
}
