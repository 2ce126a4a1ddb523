/**
 * Experts that are stored in MXFP4, in two tensors: blocks of 32 numbers of 4 bits, and a scale for
 * each block. A GGUF has both together, and the numbers of a block in another order.
 */
import type { TensorBytes } from "../tensorBytes.ts";
import { elementsOf, typeNamed } from "../tensorBytes.ts";

const MXFP4 = typeNamed("mxfp4");
const HALF = 16;

/** Sizes as they are stored: [experts, rows, blocks, 16] and [experts, rows, blocks]. */
export interface StoredBytes {
  readonly shape: readonly number[];
  readonly read: TensorBytes["read"];
}

/** Undefined where the sizes do not fit each other. */
export function mxfp4Bytes(blocks: StoredBytes, scales: StoredBytes): TensorBytes | undefined {
  const [bytes, count = 0, ...rows] = blocks.shape.toReversed();
  if (bytes !== HALF || scales.shape.join() !== blocks.shape.slice(0, -1).join()) return undefined;
  const dims = [count * 2 * HALF, ...rows];
  const { blockBytes } = MXFP4;
  return {
    type: MXFP4,
    dims,
    byteLength: (elementsOf(dims) / (2 * HALF)) * blockBytes,
    async read(offset, length, signal) {
      const first = Math.floor(offset / blockBytes);
      const last = Math.ceil((offset + length) / blockBytes);
      const [numbers, exponents] = await Promise.all([
        blocks.read(first * HALF, (last - first) * HALF, signal),
        scales.read(first, last - first, signal),
      ]);
      const out = new Uint8Array((last - first) * blockBytes);
      for (let block = 0; block < last - first; block++) {
        const at = block * blockBytes;
        out[at] = exponents[block] ?? 0;
        const number = (i: number): number => ((numbers[block * HALF + (i >> 1)] ?? 0) >> (4 * (i & 1))) & 15;
        // Neighbours share a byte in the files; here a number shares it with that of 16 places on.
        for (let i = 0; i < HALF; i++) out[at + 1 + i] = number(i) | (number(i + HALF) << 4);
      }
      return out.slice(offset - first * blockBytes, offset - first * blockBytes + length);
    },
  };
}
