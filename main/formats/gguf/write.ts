/**
 * Writes a GGUF as a stream: the header, then one tensor after the other, with memory for one piece
 * at a time. Offsets follow from sizes, each tensor is padded to the alignment (the last one too,
 * as ggml's own writers do), and keys are written from their raw bytes, so a file that was read is
 * written again byte for byte.
 */
import { WorkbenchError, throwIfCancelled } from "../../diagnostics/errors.ts";
import type { ByteSink } from "../byteSink.ts";
import { memorySource } from "../byteSource.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { elementsOf } from "../tensorBytes.ts";
import { concat, setLength, stringRaw } from "./encode.ts";
import type { GgufTensor } from "./file.ts";
import { GgufFile } from "./file.ts";
import { DEFAULT_ALIGNMENT, MAGIC, alignUp, quote, readHeader } from "./header.ts";
import { packedBytes } from "./types.ts";
import type { GgmlType } from "./types.ts";
import { valueTypeId } from "./values.ts";
import type { MetadataEntry } from "./values.ts";

export interface TensorShape {
  readonly name: string;
  readonly type: GgmlType;
  /** The fastest dimension first. */
  readonly dims: readonly number[];
  /** Of a type that is not known here: its sizes do not say how long it is. */
  readonly byteLength?: number;
}

export interface TensorToWrite extends TensorShape {
  /** The tensor's bytes in order, in pieces of any size; called once, when it is this tensor's turn. */
  readonly data: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export interface GgufContents<T extends TensorShape> {
  readonly version?: 2 | 3;
  readonly entries: readonly MetadataEntry[];
  readonly tensors: readonly T[];
}

export interface WriteOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (bytesWritten: number, bytesTotal: number) => void;
}

const COPY_BYTES = 4 << 20;

/** Header bytes without the padding behind them, and what follows from them. */
export function encodeHeader(contents: GgufContents<TensorShape>): {
  bytes: Uint8Array;
  alignment: number;
  total: number;
} {
  const alignment = alignmentOf(contents.entries);
  const front = new Uint8Array(24);
  const view = new DataView(front.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, contents.version ?? 3, true);
  setLength(view, 8, contents.tensors.length);
  setLength(view, 16, contents.entries.length);
  const parts: Uint8Array[] = [front];
  for (const entry of contents.entries) parts.push(textRaw(entry.key), u32Raw(valueTypeId(entry.type)), entry.raw);
  let offset = 0;
  for (const tensor of contents.tensors) {
    parts.push(tensorRaw(tensor, offset));
    offset += alignUp(sizeOf(tensor), alignment);
  }
  const bytes = concat(parts);
  // A file without tensors ends with its header, as gguf writers leave it.
  const isEmpty = contents.tensors.length === 0;
  return { bytes, alignment, total: isEmpty ? bytes.byteLength : alignUp(bytes.byteLength, alignment) + offset };
}

export async function writeGguf(
  sink: ByteSink,
  contents: GgufContents<TensorToWrite>,
  options: WriteOptions = {},
): Promise<number> {
  const { bytes, alignment, total } = encodeHeader(contents);
  let written = 0;
  const put = async (piece: Uint8Array): Promise<void> => {
    throwIfCancelled(options.signal);
    if (piece.byteLength === 0) return;
    await sink.write(piece);
    written += piece.byteLength;
    options.onProgress?.(written, total);
  };
  const pad = (): Promise<void> => put(new Uint8Array(alignUp(written, alignment) - written));
  try {
    await put(bytes);
    if (contents.tensors.length > 0) await pad();
    for (const tensor of contents.tensors) {
      const start = written;
      for await (const piece of tensor.data()) await put(piece);
      if (written - start !== sizeOf(tensor))
        throw new WorkbenchError(
          "BUG_INVARIANT",
          `[gguf] tensor ${quote(tensor.name)}: got ${written - start} bytes to write, expected ${sizeOf(tensor)}`,
        );
      await pad();
    }
    await sink.finish();
    return written;
  } catch (error) {
    await sink.abandon();
    throw error;
  }
}

/** The contents of an open file, ready to be written again, with other keys if wanted. */
export function contentsOf(
  file: GgufFile,
  entries: readonly MetadataEntry[] = file.metadata.entries,
): GgufContents<TensorToWrite> {
  return {
    version: file.version,
    entries,
    tensors: file.tensors.map((tensor) => tensorToWrite(tensor.name, bytesOf(file, tensor))),
  };
}

/** A tensor as it lies in its file. */
export const bytesOf = (file: GgufFile, tensor: GgufTensor): TensorBytes => ({
  ...tensor,
  read: (offset, length, signal) => file.readTensor(tensor, { offset, length, signal }),
});

/** A tensor that is read in pieces when it is its turn. */
export const tensorToWrite = (name: string, { type, dims, byteLength, read }: TensorBytes): TensorToWrite => ({
  ...{ name, type, dims, byteLength },
  async *data() {
    for (let at = 0; at < byteLength; at += COPY_BYTES) yield await read(at, Math.min(COPY_BYTES, byteLength - at));
  },
});

/** A model that is only a header: real keys, names and shapes, no data. Goes through the reader like any file. */
export async function makeHeaderOnly(name: string, contents: GgufContents<TensorShape>): Promise<GgufFile> {
  const { bytes } = encodeHeader(contents);
  const source = memorySource(name, bytes);
  const header = await readHeader(source, { withoutData: true });
  return new GgufFile([{ header, source }], false);
}

const sizeOf = ({ type, dims, byteLength }: TensorShape): number =>
  type.blockBytes === 0 ? (byteLength ?? 0) : packedBytes(type, elementsOf(dims));

function alignmentOf(entries: readonly MetadataEntry[]): number {
  const value = entries.find((entry) => entry.key === "general.alignment")?.value;
  return value?.kind === "number" ? value.value : DEFAULT_ALIGNMENT;
}

const textRaw = (text: string): Uint8Array => stringRaw(new TextEncoder().encode(text));

function u32Raw(value: number): Uint8Array {
  const raw = new Uint8Array(4);
  new DataView(raw.buffer).setUint32(0, value, true);
  return raw;
}

function tensorRaw(tensor: TensorShape, offset: number): Uint8Array {
  const columns = tensor.dims[0] ?? 1;
  if (columns % tensor.type.blockSize !== 0)
    throw new WorkbenchError(
      "BUG_INVARIANT",
      `[gguf] tensor ${quote(tensor.name)} is ${tensor.type.name}: got rows of ${columns} values`,
    );
  const rest = new Uint8Array(4 + 8 * tensor.dims.length + 4 + 8);
  const view = new DataView(rest.buffer);
  view.setUint32(0, tensor.dims.length, true);
  tensor.dims.forEach((dim, i) => setLength(view, 4 + 8 * i, dim));
  view.setUint32(4 + 8 * tensor.dims.length, tensor.type.id, true);
  setLength(view, 8 + 8 * tensor.dims.length, offset);
  return concat([textRaw(tensor.name), rest]);
}
