/**
 * A source whose bytes lie nowhere as such: pieces of other sources, read and changed when they are
 * asked for. What lies between two pieces is zero. So another container is opened like a GGUF: the
 * pieces are the header and the tensors of the GGUF that it would become.
 */
import { throwIfCancelled } from "../diagnostics/errors.ts";
import type { ByteSource, Made } from "./byteSource.ts";
import { checkRange } from "./byteSource.ts";

export interface Piece {
  /** From the beginning of the source. */
  readonly offset: number;
  readonly byteLength: number;
  /** Bytes from `offset` of this piece. */
  readonly read: (offset: number, length: number, signal?: AbortSignal) => Promise<Uint8Array>;
}

export interface MadeOptions {
  readonly name: string;
  readonly byteLength: number;
  /** In order, without overlaps. */
  readonly pieces: readonly Piece[];
  readonly made: Made;
  readonly close: () => Promise<void>;
}

export function madeSource({ pieces, ...options }: MadeOptions): ByteSource {
  return {
    ...options,
    async read(offset, length, signal) {
      throwIfCancelled(signal);
      checkRange(options, offset, length);
      const out = new Uint8Array(length);
      const end = offset + length;
      for (let i = firstBehind(pieces, offset); i < pieces.length; i++) {
        const piece = pieces[i];
        if (piece === undefined || piece.offset >= end) break;
        const from = Math.max(offset, piece.offset);
        const to = Math.min(end, piece.offset + piece.byteLength);
        if (to > from) out.set(await piece.read(from - piece.offset, to - from, signal), from - offset);
      }
      return out;
    },
  };
}

/** The first piece that ends behind an offset. */
function firstBehind(pieces: readonly Piece[], offset: number): number {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const piece = pieces[middle];
    if (piece !== undefined && piece.offset + piece.byteLength <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A piece that is in memory. */
export const pieceOf = (offset: number, bytes: Uint8Array): Piece => ({
  offset,
  byteLength: bytes.byteLength,
  read: async (at, length) => bytes.subarray(at, at + length),
});
