/**
 * Samples of a file's data: a fine-tune has the size and the header of what it was made from, and other numbers. Retraining changes
 * a tensor everywhere, so that a few kilobytes of each tell two files apart, and 20 GB need not be read.
 */
import { hashBytes } from "../../ir/hash.ts";
import type { GgufFile, GgufTensor } from "./file.ts";

export interface SampledRange {
  readonly tensor: GgufTensor;
  readonly offset: number;
  readonly length: number;
}

/** A page of most file systems. */
const RANGE_BYTES = 4096;
/** Of so many tensors both ends are read, of more the beginning and the end by turns: about 64 ranges, and one at least of each. */
const BOTH_ENDS = 32;

export function sampledRanges(tensors: readonly GgufTensor[]): readonly SampledRange[] {
  return tensors.flatMap((tensor, i) => {
    const length = Math.min(RANGE_BYTES, tensor.byteLength);
    const last = tensor.byteLength - length;
    const byTurns = i % 2 === 0 ? [0] : [last];
    const offsets = last === 0 ? [0] : tensors.length <= BOTH_ENDS ? [0, last] : byTurns;
    return offsets.map((offset) => ({ tensor, offset, length }));
  });
}

/** One range each of some matrices, spread over the file: vectors are often left alone. For files whose every range is a question. */
export function fewRanges(tensors: readonly GgufTensor[], most: number): readonly SampledRange[] {
  const ranges = sampledRanges(tensors.filter(({ dims }) => dims.length > 1));
  const count = Math.min(most, ranges.length);
  return Array.from({ length: count }, (_, i) => ranges[Math.floor((i * ranges.length) / count)]).filter(
    (range) => range !== undefined,
  );
}

/** Of the ranges' bytes. One after the other: a file in a window answers one question at a time. */
export async function hashOfRanges(
  file: GgufFile,
  ranges: readonly SampledRange[],
  signal?: AbortSignal,
): Promise<string> {
  const bytes = new Uint8Array(ranges.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const { tensor, offset, length } of ranges) {
    bytes.set(await file.readTensor(tensor, { offset, length, signal }), at);
    at += length;
  }
  return hashBytes(bytes);
}
