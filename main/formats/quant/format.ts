/** What a file of this folder tells about one block format. */
import type { PackedType } from "../../ir/dtype.ts";

export interface BlockFormat {
  readonly type: PackedType;
  readonly blockSize: number;
  readonly blockBytes: number;
  /** The bytes of a block in order, for people: "f16 d · 16 bytes of nibbles". */
  readonly layout: string;
  /** Unpacks `blocks` blocks from `bytes[from…]` to `out[to…]`. The caller has checked both ranges. */
  readonly dequantize: (bytes: Uint8Array, from: number, out: Float32Array, to: number, blocks: number) => void;
}

/** Bytes as signed numbers over the same memory. */
export const signed = (bytes: Uint8Array): Int8Array => new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
