/**
 * Samples of a file's data, to tell a fine-tune from its base model: both have the same size and
 * header. Training changes a tensor everywhere, so a few kilobytes of each are enough.
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
/** Up to this many tensors give both ends; of more, beginning and end alternate: about 64 ranges, at least one each. */
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

/**
 * One range each of some matrices, spread over the file, for sources where each read is slow.
 * Training may leave vectors alone.
 */
export function fewRanges(tensors: readonly GgufTensor[], most: number): readonly SampledRange[] {
  const ranges = sampledRanges(tensors.filter(({ dims }) => dims.length > 1));
  const count = Math.min(most, ranges.length);
  return Array.from({ length: count }, (_, i) => ranges[Math.floor((i * ranges.length) / count)]).filter(
    (range) => range !== undefined,
  );
}

/** Hash of the ranges' bytes. One read after the other: a dropped file answers one at a time. */
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
